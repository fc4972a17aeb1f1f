# Metric path nodes: what the world calls things, in the characters that Carbon keeps. Different names never meet in one node.
# The same rules as lnetstat/reduce/paths.py; both are tested with sample-data/paths.tsv. Names are bytes, as the kernel prints them.

# What is no name of its kind becomes "__" and its bytes in hex; more than 90 bytes: the first 60 and a hash.
sub hex_node {
    my ($name) = @_;
    if (length($name) > 90) {
        require Digest::SHA;    # only for the one name in a million that is so long
        return '__' . unpack('H*', substr $name, 0, 60) . '_' . substr Digest::SHA::sha256_hex($name), 0, 16;
    }
    return '__' . unpack 'H*', $name;
}

# A host name: dots become underscores (rtr01.site.org -> rtr01_site_org).
sub host_node {
    my ($host) = @_;
    if ($host =~ /\A[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?\z/ && index($host, '..') < 0) {
        $host =~ tr/./_/;
        return $host;
    }
    return hex_node($host);
}

my $BYTE = qr/(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])/;
my $ADDRESS = qr/(?:$BYTE[.]){3}$BYTE|[0-9]{1,10}|(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{0,4}/;

# A NID: 10.10.1.2@o2ib1 -> 10_10_1_2_at_o2ib1, 12@gni -> 12_at_gni, fd00::1@tcp -> fd00--1_at_tcp.
sub nid_node {
    my ($nid) = @_;
    if ($nid =~ /\A($ADDRESS)\@([a-z][a-z0-9]*)\z/) {
        my ($address, $net) = ($1, $2);
        $address =~ tr/.:/_-/;
        return "${address}_at_$net";
    }
    return hex_node($nid);
}

# A net: o2ib1 stays.
sub net_node {
    my ($net) = @_;
    return $net =~ /\A[A-Za-z0-9]+\z/ ? $net : hex_node($net);
}

# A counter, or a counters' instance: ost_io and obd_ping stay, obdfilter.FS-OST0000 -> obdfilter_FS-OST0000. A dotted name keeps a
# readable node only where no identifier can have the same one; every other name becomes hex.
sub name_node {
    my ($name) = @_;
    return $name if $name =~ /\A[a-z][a-z0-9]*(?:_[a-z0-9]+)*\z/;
    return "$1_$2" if $name =~ /\A([a-z]+)[.]([A-Za-z0-9_-]*[A-Z-][A-Za-z0-9_-]*)\z/;
    return hex_node($name);
}
