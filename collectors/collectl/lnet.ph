# lnet.ph: LNet's credits for collectl: peers, nis, buffers, stats, routes and routers of a router, server or client.
#
#     collectl --import /usr/share/collectl/lnet.ph,sd                    on the terminal
#     collectl --import ./lnet.ph,path=DIR,rows=60 -f /var/log/collectl   into raw files, all peers every 60th sample
#
# README.md beside the sources explains options and columns. Negative credits are messages that wait; they stay negative everywhere.
# Reading only: nothing is written to LNet's files unless `reset` is given.

package Lnetstat::Lnet;
use strict;
use warnings;
use English qw(-no_match_vars);
use Errno ();
use Fcntl ();
use List::Util ();
use Time::HiRes ();

# graphite.ph stamps with time(), which reads a clock that may be a tick late: on a whole second that is the second before. What is loaded
# after this module gets the exact one.
BEGIN {
    no warnings qw(once redefine);
    *CORE::GLOBAL::time = sub { return int Time::HiRes::time() };
}

my $FILE    = 'lnet.ph';
my $VERSION = '0.5';
my $KEY     = 'lnt';

# --- begin generated: metrics (make docs) ---
# The metrics of lnetstat/reduce/metrics.py: family => leaf names in order.
my %METRICS = (
    'peers.NET' => [qw(count down oversubscribed oversubscribed_low in_use in_use_max tx_credits_worst tx_credits_low
        rtr_credits_worst rtr_credits_low queue_bytes queue_bytes_max)],
    'peers.NET.hist.tx_share' => [qw(lt0 0_25 25_50 50_75 75_100)],
    'peers.NET.top.NID' => [qw(tx_credits tx_credits_min rtr_credits rtr_credits_min queue_bytes)],
    'nis.NID.CPT' => [qw(tx_credits tx_credits_min tx_credits_max up)],
    'buffers.POOL' => [qw(count in_use in_use_max credits_worst credits_low)],
    'lnet_stats' => [qw(msgs_alloc msgs_max errors send_count recv_count route_count drop_count send_length recv_length route_length
        drop_length)],
    'routes' => [qw(count down routing)],
    'self' => [qw(duration_ms late errors series spooled sent resent lost rss_bytes)],
);
# What a scan that broke off makes too low.
my %NEEDS_WHOLE_SCAN = map { $_ => 1 } qw(peers.NET.count peers.NET.down peers.NET.oversubscribed peers.NET.oversubscribed_low peers.NET.in_use
    peers.NET.in_use_max peers.NET.queue_bytes peers.NET.hist.tx_share.BUCKET routes.count routes.down);
my $TOP_PEERS = 16;
# --- end generated: metrics ---

# --- begin generated: paths (make docs) ---
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
# --- end generated: paths ---

# --- begin generated: reading (make docs) ---
# Reading kernel files, record lines, telling once. The package that holds this block has `my $FILE = 'lnet.ph'`.
#
# LNet's tables give one record per read(2): ESTALE when a peer is added in mid-scan (reading on never works: begin again), EINVAL on a
# short buffer or, from debugfs, when the module has gone. `stats` and `buffers` are made anew at each read: they must come in one.

my $BUFFER_BYTES  = 65_536;
my $STALE_RETRIES = 3;
my %TOLD;

# What an error number makes of a read that brought nothing.
sub state_of {
    my ($errno) = @_;
    return 'ok' if !$errno;
    return 'absent' if $errno == Errno::ENOENT() || $errno == Errno::ENOTDIR() || $errno == Errno::EINVAL();
    return 'forbidden' if $errno == Errno::EACCES() || $errno == Errno::EPERM();
    return 'failed';
}

# Read a whole file. `$take`: called with the open handle, reads to the end and returns the text; by default one sysread after another.
# Returns {state, errno, time (epoch seconds), read_us, flags, text}. After ESTALE the scan begins again, up to three times; then the
# longest scan is delivered as partial. Nothing dies, nothing is told here.
sub read_file {
    my ($path, $take) = @_;
    my ($best, $errno, $tries) = (undef, 0, 0);
    while ($tries++ <= $STALE_RETRIES) {
        my $began = Time::HiRes::time();
        my $text  = '';
        $errno = 0;
        if (my $handle = open_regular($path)) {
            $text  = $take ? $take->($handle) : slurp($handle);
            $errno = 0 + $ERRNO;
            $errno ||= 0 + $ERRNO if !close $handle;
        }
        else {
            $errno = 0 + $ERRNO;
        }
        my $scan = {text => $text, time => $began, read_us => int(1e6 * (Time::HiRes::time() - $began)), flags => q{}};
        $best = $scan if !$best || $errno != Errno::ESTALE() || length $text > length $best->{text};
        last if $errno != Errno::ESTALE();
    }
    my $retried = $tries > 1 ? 'retried' : q{};
    if ($errno && ($errno == Errno::ESTALE() || $errno == Errno::EINVAL()) && length $best->{text}) {
        return {%{$best}, state => 'partial', errno => $errno, flags => $retried};
    }
    $best->{text} = q{} if $errno;
    return {%{$best}, state => state_of($errno), errno => $errno, flags => $retried};
}

# Open a regular file: never waits for the other end of a FIFO, never opens a device.
sub open_regular {
    my ($path) = @_;
    return if !stat $path;
    if (!-f _) {
        $ERRNO = Errno::ENXIO();
        return;
    }
    sysopen my $handle, $path, Fcntl::O_RDONLY() | Fcntl::O_NONBLOCK() | Fcntl::O_NOCTTY() or return;
    return $handle;
}

# Everything that a handle gives; $ERRNO says afterwards how it ended (0: at the end of the file).
sub slurp {
    my ($handle) = @_;
    my ($text, $got) = (q{}, 1);
    while ($got) {
        $got = sysread $handle, $text, $BUFFER_BYTES, length $text;
        $got = 1 if !defined $got && $ERRNO == Errno::EINTR();    # collectl's own timer
    }
    $ERRNO = 0 if defined $got;
    return $text;
}

# Write one record: the read of the file that the Python agent calls `$name`. README.md says how it looks; one line, all bytes kept.
sub record_read {
    my ($key, $name, $read) = @_;
    my $text = $read->{text};
    $text =~ s/\\/\\\\/g;
    $text =~ s/\n/\\n/g;
    $text =~ s/\r/\\r/g;
    $name =~ s/ /\\s/g;
    my $flags = $read->{flags} eq q{} ? q{-} : $read->{flags};
    my $line  = sprintf '%s-%s %s %d %.6f %d %s |', $key, $name, @{$read}{qw(state errno time read_us)}, $flags;
    main::record(2, "$line$text\n");
    return;
}

my %UNESCAPED = (n => "\n", r => "\r", s => q{ }, q{\\} => q{\\});

# The inverse: (name, read) of a record's type and data, or nothing for what is no such record.
sub recorded {
    my ($key, $type, $data) = @_;
    my ($name) = $type =~ /^\Q$key\E-(\S+)$/ or return;
    my ($state, $errno, $time, $us, $flags, $text) = $data =~ /^(\w+) (\d+) ([\d.]+) (\d+) (\S+) [|](.*)$/s or return;
    $name =~ s/\\(.)/defined $UNESCAPED{$1} ? $UNESCAPED{$1} : $1/ge;
    $text =~ s/\\(.)/defined $UNESCAPED{$1} ? $UNESCAPED{$1} : $1/ge;
    my $read = {state => $state, errno => $errno, time => $time, read_us => $us, flags => $flags eq q{-} ? q{} : $flags, text => $text};
    return ($name, $read);
}

# Tell a state once when it begins and once when all is well again. `$now` empty: all is well.
sub tell_change {
    my ($what, $now, $well) = @_;
    my $before = defined $TOLD{$what} ? $TOLD{$what} : q{};
    return if $now eq $before;
    $TOLD{$what} = $now;
    my $text = $now eq q{} ? $well : $now;
    tell_user($text) if $text ne q{};
    return;
}

# One line where somebody can see it: collectl's log (-m with -f), the terminal, else standard error.
sub tell_user {
    my ($text) = @_;
    no warnings 'once';
    $text = "$FILE: $text";
    main::logmsg('W', $text) if defined &main::logmsg;
    my $logged  = $main::msgFlag  && defined $main::filename && $main::filename ne q{};
    my $printed = $main::termFlag && !$main::daemonFlag && (!$main::quietFlag || $main::msgFlag);
    print {*STDERR} "$text\n" if !$logged && !$printed;
    return;
}
# --- end generated: reading ---

# ---- Options and headers ----

my @TABLES = qw(stats buffers nis routes routers peers);    # cheapest first: their stamps lie closest to the sample's
my $OPTIONS = 's, d, sd, path=DIR, rows=N, top=K, peers=N, tables=peers+nis+..., reset';
my $LOCK    = '/run/lnetstat-low-water.lock';
my %option  = (show => q{}, path => q{}, rows => 0, top => $TOP_PEERS, peers => 1, reset => 0, tables => \@TABLES);
my $lock;

sub main::lnetInit {
    my ($options, $key) = @_;
    if (!eval { set_options(split /,/, defined ${$options} ? ${$options} : q{}); 1 }) {
        my ($why) = split /\n/, $EVAL_ERROR;
        tell_user("$why; $FILE is left out");
        return -1;    # collectl unloads this module and goes on
    }
    ${$options} = $option{show};    # collectl looks for s and d in what stands here
    ${$key}     = $KEY;
    return 1;
}

sub set_options {
    my (@words) = @_;
    foreach my $word (@words) {
        my ($name, $value) = split /=/, $word, 2;
        $name = q{} if !defined $name;
        if    ($word =~ /^(?:s|d|sd|ds)$/) { $option{show} = $word }
        elsif ($word eq 'reset')           { $option{reset} = 1 }
        elsif (!defined $value || $value eq q{}) { die "option '$word': expected one of $OPTIONS\n" }
        elsif ($name eq 'path')            { $option{path} = $value }
        elsif ($name =~ /^(?:rows|top|peers)$/) { $option{$name} = number_of($name, $value) }
        elsif ($name eq 'tables')          { $option{tables} = tables_of($word, $value) }
        else                               { die "option '$word': expected one of $OPTIONS\n" }
    }
    $option{show} ||= 's';
    prepare_reading() if !defined $main::playback || $main::playback eq q{};
    return;
}

sub number_of {
    my ($name, $value) = @_;
    my ($least, $most) = $name eq 'rows' ? (0, 100_000) : $name eq 'top' ? (1, $TOP_PEERS) : (1, 100_000);
    return 0 + $value if $value =~ /^\d{1,6}$/ && $value >= $least && $value <= $most;
    die "option '$name=$value': expected a whole number from $least to $most\n";
}

sub tables_of {
    my ($word, $value) = @_;
    my %wanted = map { $_ => 1 } split /[+]/, $value;
    my @found = grep { delete $wanted{$_} } @TABLES;
    die "option '$word': expected tables among @TABLES, joined by +\n" if %wanted || !@found;
    return \@found;
}

sub prepare_reading {
    die "path=$option{path}: not a folder: a tree with proc/ and sys/, or a folder with peers, nis, ... was expected\n"
        if $option{path} ne q{} && !-d $option{path};
    return if !$option{reset};
    die "reset: low-water marks are reset on the node itself, not in a copied tree: leave out reset or path\n" if $option{path} ne q{};
    $lock = take_lock($LOCK);
    return;
}

sub main::lnetUpdateHeader {
    my ($header) = @_;
    my $tables = join q{+}, @{$option{tables}};
    ${$header} .= "# lnetstat: $FILE $VERSION path=" . ($option{path} eq q{} ? q{/} : $option{path})
        . " rows=$option{rows} top=$option{top} peers=$option{peers} reset=$option{reset} tables=$tables"
        . " units: credits, bytes, messages\n";
    return;
}

# ---- Reading a sample ----

my %TUNABLES = (    # as the Python agent names them: where each may be, relative to the root
    timeout             => [qw(sys/fs/lustre/timeout proc/sys/lustre/timeout)],
    ping_interval       => [qw(sys/fs/lustre/ping_interval)],
    evict_multiplier    => [qw(sys/fs/lustre/evict_multiplier)],
    version             => [qw(sys/fs/lustre/version proc/fs/lustre/version)],
    suppress_pings      => [qw(sys/module/ptlrpc/parameters/suppress_pings)],
    cpu_partition_table => [qw(sys/kernel/debug/lnet/cpu_partition_table proc/sys/lnet/cpu_partition_table)],
);
my @MODULES          = qw(lnet ksocklnd ko2iblnd kgnilnd);
my $TUNABLES_EVERY_S = 600;
my $recorded_scan = new_scan();
my ($samples, $scans, $tunables_due_s, %paths_of, %was_reset) = (0, 0, 0);

sub main::lnetGetData {
    my $began = Time::HiRes::time();
    my ($there, @states) = (0);
    foreach my $table (@{$option{tables}}) {
        next if $table eq 'peers' && $samples % $option{peers};
        my ($path, $read) = read_table_file($table);
        next if !$read;
        push @states, [$table, $path, {%{$read}, text => q{}}];
        $there ||= $read->{state} ne 'absent';
        $read = reset_low_water($table, $path, $read) if $option{reset} && ($table eq 'peers' || $table eq 'nis');
        next if !$read;
        if ($table eq 'peers') { record_peers($read) }
        else                   { record_read($KEY, $table, $read) }
    }
    my $where = $option{path} eq q{} ? q{} : " under $option{path}";
    my $nothing = "no table of LNet$where: is LNet loaded, is debugfs mounted, are you root? going on";
    tell_change(q{*}, $there ? q{} : $nothing, 'LNet is there') if !($samples % $option{peers});
    tell_state(@{$_}) foreach $there ? @states : ();    # when all is gone that one line is enough
    $tunables_due_s = 0 if !$there;    # modules that are loaded again may have other parameters
    record_tunables($began) if $there && $began >= $tunables_due_s;
    $samples++;
    main::record(2, sprintf "$KEY=took %.3f\n", 1e3 * (Time::HiRes::time() - $began));
    return;
}

sub path_below {
    my ($relative) = @_;
    return $option{path} eq q{} ? "/$relative" : "$option{path}/$relative";
}

# Where a table may be: debugfs since 2.11, /proc before; a given folder may hold it itself. What was found is looked at first.
sub paths_of {
    my ($table) = @_;
    return $paths_of{$table} ||= [
        (map { path_below("$_/$table") } qw(sys/kernel/debug/lnet proc/sys/lnet)), $option{path} eq q{} ? () : path_below($table)
    ];
}

# (path, read) of a table; nothing on a node that has no LNet at all.
sub read_table_file {
    my ($table) = @_;
    my $take  = $table eq 'stats' || $table eq 'buffers' ? \&take_at_once : undef;
    my $paths = paths_of($table);
    my ($forbidden, $read);
    foreach my $at (0 .. $#{$paths}) {
        my $path = $paths->[$at];
        $read = $table eq 'peers' ? read_peers($recorded_scan, $path) : read_file($path, $take);
        if ($read->{state} eq 'forbidden') {
            $forbidden ||= [$path, $read];
        }
        elsif ($read->{state} ne 'absent') {
            unshift @{$paths}, splice @{$paths}, $at, 1;
            return ($path, $read);
        }
    }
    return @{$forbidden} if $forbidden;
    return if $option{path} eq q{} && !-e '/sys/module/lnet';
    return ($paths->[0], $read);
}

# A file that is made anew at each read(2).
sub take_at_once {
    my ($handle) = @_;
    my $text;
    my $got = sysread $handle, $text, $BUFFER_BYTES;
    return q{} if !defined $got;
    if ($got == $BUFFER_BYTES || substr($text, -1) ne "\n") {
        $text .= slurp($handle);
        return $text;
    }
    $ERRNO = 0;
    return $text;
}

# Say once per file and cause why it cannot be read, and once that it can be again.
my %seen;

sub tell_state {
    my ($name, $path, $read) = @_;
    my $why = q{};
    if ($read->{state} eq 'forbidden' || $read->{state} eq 'failed') {
        local $ERRNO = $read->{errno};
        $why = "$path: $read->{state}: $ERRNO";
        $why .= ' (run as root, or have debugfs readable)' if $read->{state} eq 'forbidden';
    }
    elsif ($read->{state} eq 'partial') { $why = "$path: the table changed in mid-scan, time and again: the rows until then are used" }
    elsif ($read->{state} eq 'absent' && $seen{$name}) { $why = "$path: gone" }
    $seen{$name} = 1 if $read->{state} eq 'ok';
    tell_change($name, $why, "$path: whole again");
    return;
}

# One-value files that the analyzer needs: time-outs, ping interval, module parameters.
sub record_tunables {
    my ($now) = @_;
    $tunables_due_s = $now + $TUNABLES_EVERY_S;
    my @found;
    foreach my $name (sort keys %TUNABLES) {
        my ($path) = grep { -e } map { path_below($_) } @{$TUNABLES{$name}};
        push @found, [$name, $path] if defined $path;
    }
    foreach my $module (@MODULES) {
        my $folder = path_below("sys/module/$module/parameters");
        opendir my $listing, $folder or next;
        foreach my $name (sort readdir $listing) {
            my $mode = (stat "$folder/$name")[2];
            next if !-f _ || !($mode & oct 400) || "$module.$name" eq 'lnet.routes';    # some can only be written; `routes` is the table
            push @found, ["$module.$name", "$folder/$name"];
        }
        closedir $listing;
    }
    foreach my $file (@found) { record_read($KEY, $file->[0], read_file($file->[1])) }
    return;
}

# ---- Low-water marks on request: `min` becomes that of one interval. One process per node owns this, by a lock. ----

sub take_lock {
    my ($path) = @_;
    my $handle;
    sysopen $handle, $path, Fcntl::O_RDWR() | Fcntl::O_CREAT() | Fcntl::O_NOFOLLOW(), oct 644
        or die "$path: cannot be locked: $ERRNO: resetting low-water marks needs root, or leave reset out\n";
    if (!flock $handle, Fcntl::LOCK_EX() | Fcntl::LOCK_NB()) {
        my $owner;
        sysread $handle, $owner, 32;
        $owner = 'unknown' if !defined $owner || $owner !~ s/^(\d+)\s*$/$1/;
        die "$path: process $owner already resets this node's low-water marks: stop it, or leave reset out\n";
    }
    truncate $handle, 0;
    syswrite $handle, "$PROCESS_ID\n";
    return $handle;
}

# Reset the marks of a table that was just read; return what to deliver of the read: nothing the first time, when the marks are older than
# the interval. A scan that is not whole resets nothing, or the marks of the rows it missed would be lost.
sub reset_low_water {
    my ($table, $path, $read) = @_;
    my $known = $was_reset{$table};
    if ($read->{state} eq 'absent') {
        delete $was_reset{$table};    # when LNet is loaded again its marks begin anew
        return $read;
    }
    if ($read->{state} eq 'ok') {
        if (!write_reset($table, $path)) { delete $was_reset{$table} }
        elsif (!$known) {
            $was_reset{$table} = 1;
            return;
        }
    }
    $read->{flags} = join q{,}, grep { $_ ne q{} } $read->{flags}, 'low_water_reset' if $known;
    return $read;
}

sub write_reset {
    my ($table, $path) = @_;
    my $handle;
    my $done = sysopen($handle, $path, Fcntl::O_WRONLY() | Fcntl::O_NONBLOCK() | Fcntl::O_NOCTTY()) && syswrite $handle, "0\n";
    tell_change("$table reset", $done ? q{} : "$table: low-water marks not reset: $path: $ERRNO", q{});
    return $done;
}

# ---- peers: tens of thousands of lines, of which few change from one scan to the next ----
#
# One text is kept, into which each scan is merged as it is read: only lines that differ are taken apart, the old one out of the sums, the
# new one into them. tests/collectors/test_conformance.py holds it against lnetstat/reduce/peers.py.

my @HEADERS = (    # of Lustre 2.1 and later, and of 1.6 to 2.0, which has no `last`
    (sprintf "%-24s %4s %5s %5s %5s %5s %5s %5s %5s %s\n", qw(nid refs state last max rtr min tx min queue)),
    (sprintf "%-24s %4s %5s %5s %5s %5s %5s %5s %s\n", qw(nid refs state max rtr min tx min queue)),
);
my $BLOCK_BYTES  = 1_024;
my $NEAR_BYTES   = 8_192;    # how far a peer may have moved when others came or went
my $NID          = qr/(?:U?[0-9]+-)?[0-9A-Za-z.:_-]{1,60}+\@[a-z][a-z0-9]*+/;
my @ROWS         = map { qr/\A$NID[ ]++-?[0-9]++[ ]++(?:up|down|NA|~rtr)(?:[ ]++-?[0-9]++){$_}[ ]*+\z/ } 7, 6;

# A peer's row.
use constant {NAME => 0, STATE => 1, LIMIT => 2, RTR => 3, RTR_LOW => 4, TX => 5, TX_LOW => 6, QUEUE => 7};

# The aggregates of a net, in the order of its record. `in_use_max` of a sample is its in_use.
my @AGGREGATES = ((grep { $_ ne 'in_use_max' } @{$METRICS{'peers.NET'}}), @{$METRICS{'peers.NET.hist.tx_share'}}, 'limit');
use constant {
    COUNT => 0, DOWNS => 1, OVER => 2, OVER_LOW => 3, IN_USE => 4, TX_WORST => 5, TX_LOWEST => 6, RTR_WORST => 7, RTR_LOWEST => 8,
    QUEUES => 9, QUEUE_MAX => 10, BUCKETS => 11, LIMITS => 16,
};

# `text`: the latest; `at`: so many bytes of it are of the scan under way; `rest`: a line of that scan that is not whole yet; `nets`: sums;
# `layout`: which of @HEADERS it has; `irregular`: none of them, or damaged. In the order of the worst, {tx}{mark}: `busy` {line} => 1 of
# peers that hold credits, `idle` => how many peers, and `found` => their rows, as far as they had to be
# looked for. `starved`: {rtr}{line} of peers whose messages wait for a router credit.
sub new_scan {
    return {text => q{}, at => 0, rest => q{}, layout => 0, irregular => 0, nets => {}, busy => {}, idle => {}, found => {}, starved => {}};
}

sub begin_scan {
    my ($scan) = @_;
    %{$scan} = %{new_scan()} if $scan->{irregular};
    @{$scan}{qw(at rest)} = (0, q{});
    return;
}

# Take the next part of a scan, cut anywhere.
sub take_part {
    my ($scan, $part) = @_;
    my $text = \$scan->{text};
    if ($scan->{irregular}) {
        ${$text} .= ${$part};
        return;
    }
    my $length = length ${$part};
    if ($scan->{rest} eq q{} && substr(${$text}, $scan->{at}, $length) eq ${$part}) {
        $scan->{at} += $length;
        return;
    }
    my $begin = $scan->{at} ? 1 + rindex ${$text}, "\n", $scan->{at} - 1 : 0;
    my $rest  = substr(${$text}, $begin, $scan->{at} - $begin) . $scan->{rest} . ${$part};
    my $lines = substr $rest, 0, 1 + rindex($rest, "\n"), q{};
    my $end   = merge_lines($scan, $begin, \$lines);
    if (!defined $end) {
        substr ${$text}, $begin, length(${$text}) - $begin, $lines . $rest;
        $scan->{irregular} = 1;
        return;
    }
    substr ${$text}, $begin, $end - $begin, $lines;
    @{$scan}{qw(at rest)} = ($begin + length $lines, $rest);
    return;
}

# Bring the sums from the lines of the old text, from `$old_at` on, to these new ones. Returns where the old lines that these stand for end;
# nothing where a line is no regular row.
sub merge_lines {
    my ($scan, $old_at, $new) = @_;
    my $old = \$scan->{text};
    my ($at, $end) = (0, length ${$new});
    if ($old_at == 0) {
        return 0 if !$end;
        my ($layout) = grep { index(${$new}, $HEADERS[$_]) == 0 } 0, 1;
        return if !defined $layout || (${$old} ne q{} && $layout != $scan->{layout});
        $scan->{layout} = $layout;
        $at = length $HEADERS[$layout];
        $old_at = $at if ${$old} ne q{};
    }
    while ($at < $end) {
        my $block     = substr ${$new}, $at,     $BLOCK_BYTES;
        my $old_block = substr ${$old}, $old_at, length $block;
        if ($block eq $old_block) {
            $at     += length $block;
            $old_at += length $block;
            next;
        }
        ($block ^ $old_block) =~ /[^\0]/g;
        my $same = $LAST_MATCH_START[0];
        $at     = 1 + rindex ${$new}, "\n", $at + $same - 1;
        $old_at = 1 + rindex ${$old}, "\n", $old_at + $same - 1;
        my $line     = substr ${$new}, $at,     index(${$new}, "\n", $at) - $at;
        my $old_line = substr ${$old}, $old_at, index(${$old}, "\n", $old_at) - $old_at;
        my $change   = $old_line eq q{} ? 'new' : change_of($new, $at, $line, $old, $old_at, $old_line);
        if ($change eq 'same') {
            change_peer($scan, $old_line, $line) or return;
            $at     += 1 + length $line;
            $old_at += 1 + length $old_line;
            next;
        }
        if ($change ne 'gone') {    # `other`: one went where another came
            add_peer($scan, $line, 1) or return;
            $at += 1 + length $line;
        }
        if ($change ne 'new') {
            add_peer($scan, $old_line, -1);
            $old_at += 1 + length $old_line;
        }
    }
    return $old_at;
}

# Two lines that differ: the same peer, a new one before it, or one that has gone. Any answer is right for the sums; this one is short.
sub change_of {
    my ($new, $at, $line, $old, $old_at, $old_line) = @_;
    my $nid     = substr $line,     0, index $line,     q{ };
    my $old_nid = substr $old_line, 0, index $old_line, q{ };
    return 'same' if $nid eq $old_nid;
    return 'new'  if index(substr(${$new}, $at,     $NEAR_BYTES), "\n$old_nid ") >= 0;
    return 'gone' if index(substr(${$old}, $old_at, $NEAR_BYTES), "\n$nid ") >= 0;
    return 'other';
}

# Take what the scan did not bring any more out of the sums. False for an irregular text, which then stands in `text` as it was read.
sub end_scan {
    my ($scan) = @_;
    my $text = \$scan->{text};
    if (!$scan->{irregular} && ($scan->{rest} ne q{} || $scan->{at} < length $HEADERS[$scan->{layout}])) {
        substr ${$text}, $scan->{at}, length(${$text}) - $scan->{at}, $scan->{rest};
        $scan->{irregular} = 1;
    }
    return if $scan->{irregular};
    return 1 if $scan->{at} == length ${$text};
    my $begin = 1 + rindex ${$text}, "\n", $scan->{at} - 1;
    if ($begin != $scan->{at}) {    # cut within a line that was as before
        substr ${$text}, $scan->{at}, length(${$text}) - $scan->{at}, q{};
        $scan->{irregular} = 1;
        return;
    }
    foreach my $line (split /\n/, substr ${$text}, $begin, length(${$text}) - $begin, q{}) { add_peer($scan, $line, -1) }
    return 1;
}

sub row_of {
    my ($line) = @_;
    return [(split q{ }, $line)[0, 2, -6 .. -1]];
}

# Add one peer to the sums (`$sign` 1), or take it away (-1); false for a line that is none. A line that is taken away was checked when it
# came. Rows of routed NIDs (limit 0) hold no credits and count in `count` only.
sub add_peer {
    my ($scan, $line, $sign) = @_;
    return if $sign > 0 && $line !~ $ROWS[$scan->{layout}];
    my $row = row_of($line);
    add_row($scan, $row, $sign);
    place_row($scan, $row, $sign, $line) if $row->[LIMIT] > 0;
    return 1;
}

# The sums of the net of a NID: `of`: how many peers have each value of a field, so that the lowest is known when its peer goes.
sub sums_of {
    my ($scan, $nid) = @_;
    my $net = substr $nid, 1 + rindex $nid, q{@};
    return $scan->{nets}{$net} ||= {sums => [(0) x @AGGREGATES], of => [map { {} } 0 .. QUEUE]};
}

sub add_row {
    my ($scan, $row, $sign) = @_;
    my (undef, $state, $limit, undef, undef, $tx, $tx_low, $queue) = @{$row};
    my ($sums, $of) = @{sums_of($scan, $row->[NAME])}{qw(sums of)};
    $sums->[COUNT] += $sign;
    return if $limit <= 0;
    $sums->[DOWNS]    += $sign if $state eq 'down';
    $sums->[OVER]     += $sign if $tx < 0;
    $sums->[OVER_LOW] += $sign if $tx_low < 0;
    $sums->[IN_USE]   += $sign * ($limit - $tx);
    $sums->[QUEUES]   += $sign * $queue;
    $sums->[LIMITS]   += $sign * $limit;
    $sums->[bucket_of($tx, $limit)] += $sign;
    foreach my $field (RTR .. QUEUE) {
        ($of->[$field]{$row->[$field]} += $sign) || delete $of->[$field]{$row->[$field]};
    }
    return;
}

# The same peer with other numbers: most often only a few of them differ. False for a line that is no row.
sub change_peer {
    my ($scan, $old_line, $line) = @_;
    return if $line !~ $ROWS[$scan->{layout}];
    my ($old, $new) = (row_of($old_line), row_of($line));
    my ($limit, $old_tx, $tx) = ($new->[LIMIT], $old->[TX], $new->[TX]);
    if ($limit <= 0 || $limit != $old->[LIMIT] || $old->[STATE] ne $new->[STATE]) {
        return add_peer($scan, $old_line, -1) && add_peer($scan, $line, 1);
    }
    my ($sums, $of) = @{sums_of($scan, $new->[NAME])}{qw(sums of)};
    foreach my $field (RTR .. QUEUE) {
        my ($was, $is) = ($old->[$field], $new->[$field]);
        next if $was == $is;
        $of->[$field]{$is}++;
        --$of->[$field]{$was} || delete $of->[$field]{$was};
    }
    $sums->[OVER]     += ($tx < 0) - ($old_tx < 0);
    $sums->[OVER_LOW] += ($new->[TX_LOW] < 0) - ($old->[TX_LOW] < 0);
    $sums->[IN_USE]   += $old_tx - $tx;
    $sums->[QUEUES]   += $new->[QUEUE] - $old->[QUEUE];
    $sums->[bucket_of($old_tx, $limit)]--;
    $sums->[bucket_of($tx,     $limit)]++;
    place_row($scan, $old, -1, $old_line);
    place_row($scan, $new, 1,  $line);
    return 1;
}

sub bucket_of {
    my ($tx, $limit) = @_;
    my $quarter = $tx < 0 ? 0 : 1 + int 4 * $tx / $limit;
    return BUCKETS + ($quarter > 4 ? 4 : $quarter);
}

# Put a row that holds credits where worst_of_scan() finds it, or take it away.
sub place_row {
    my ($scan, $row, $sign, $line) = @_;
    my ($tx, $tx_low, $rtr) = @{$row}[TX, TX_LOW, RTR];
    if ($rtr < 0) {
        my $with_rtr = $scan->{starved}{$rtr} ||= {};
        ($with_rtr->{$line} += $sign) || delete $with_rtr->{$line};
        delete $scan->{starved}{$rtr} if !%{$with_rtr};
    }
    if ($tx == $row->[LIMIT]) {
        ($scan->{idle}{$tx}{$tx_low} += $sign) || delete $scan->{idle}{$tx}{$tx_low};
        delete $scan->{found}{"$tx $tx_low"};
    }
    else {
        my $with_mark = $scan->{busy}{$tx}{$tx_low} ||= {};
        ($with_mark->{$line} += $sign) || delete $with_mark->{$line};
        delete $scan->{busy}{$tx}{$tx_low} if !%{$with_mark};
    }
    return;
}

# {net => [aggregates]}; undef where no peer of the net holds credits.
sub nets_of {
    my ($scan) = @_;
    my %nets;
    while (my ($net, $of_net) = each %{$scan->{nets}}) {
        next if !$of_net->{sums}[COUNT];
        my @sums = @{$of_net->{sums}};
        @sums[TX_WORST, TX_LOWEST, RTR_WORST, RTR_LOWEST] = map { List::Util::min(keys %{$of_net->{of}[$_]}) } TX, TX_LOW, RTR, RTR_LOW;
        $sums[QUEUE_MAX] = List::Util::max(0, keys %{$of_net->{of}[QUEUE]});
        $nets{$net} = \@sums;
    }
    return \%nets;
}

# The worst peers of the node: lowest tx_credits, then lowest mark, then largest queue, ties by NID.
sub worst_of {
    my ($rows) = @_;
    my @sorted = sort {
        $a->[TX] <=> $b->[TX] || $a->[TX_LOW] <=> $b->[TX_LOW] || $b->[QUEUE] <=> $a->[QUEUE] || $a->[NAME] cmp $b->[NAME]
    } grep { $_->[LIMIT] > 0 } @{$rows};
    return \@sorted;
}

# The same out of a scan, from the lowest tx and mark on.
sub worst_of_scan {
    my ($scan) = @_;
    my (@rows, %found);
    foreach my $tx (in_order($scan->{busy}, $scan->{idle})) {
        my ($busy, $idle) = map { $scan->{$_}{$tx} || {} } qw(busy idle);
        foreach my $mark (in_order($busy, $idle)) {
            push @rows, map { row_of($_) } keys %{$busy->{$mark} || {}};
            if (my $peers = $idle->{$mark}) {
                my $known = $scan->{found}{"$tx $mark"} || first_of(worst_of(idle_rows($scan, $tx, $mark, $peers)));
                $found{"$tx $mark"} = $known;
                push @rows, @{$known};
            }
            last if @rows >= $option{top};
        }
        last if @rows >= $option{top};
    }
    $scan->{found} = \%found;    # what was not wanted now need not be kept
    return first_of(worst_of(\@rows));
}

# As many as get series of their own.
sub first_of {
    my ($rows) = @_;
    splice @{$rows}, $option{top} if @{$rows} > $option{top};
    return $rows;
}

# The keys of two hashes, in order.
sub in_order {
    my ($one, $other) = @_;
    my @keys = sort { $a <=> $b } keys %{$one}, grep { !exists $one->{$_} } keys %{$other};
    return @keys;
}

# The rows of the peers with the lowest router credits, as far as these are below 0: they may have all their tx credits.
sub starved_of_scan {
    my ($scan) = @_;
    my @rows;
    foreach my $rtr (sort { $a <=> $b } keys %{$scan->{starved}}) {
        push @rows, map { row_of($_) } sort keys %{$scan->{starved}{$rtr}};
        last if @rows >= $option{top};
    }
    return first_of(\@rows);
}

sub starved_of {
    my ($irregular, $scan) = @_;
    return starved_of_scan($scan) if !$irregular;
    my @rows = sort { $a->[RTR] <=> $b->[RTR] || $a->[NAME] cmp $b->[NAME] } grep { $_->[LIMIT] > 0 && $_->[RTR] < 0 } @{$irregular};
    return first_of(\@rows);
}

# The rows of idle peers with this tx and this mark, of which there are so many. A kernel prints both in five places; texts may come from
# elsewhere.
sub idle_rows {
    my ($scan, $tx, $mark, $peers) = @_;
    my $text   = \$scan->{text};
    my $needle = sprintf ' %5d %5d ', $tx, $mark;
    my ($at, $found, @rows) = (0, 0);
    while (($at = index ${$text}, $needle, $at) >= 0) {
        my $begin = 1 + rindex ${$text}, "\n", $at;
        $at = index ${$text}, "\n", $at;
        my $row = row_of(substr ${$text}, $begin, $at - $begin);
        next if $row->[LIMIT] <= 0 || $row->[TX] != $tx || $row->[LIMIT] != $tx || $row->[TX_LOW] != $mark;
        push @rows, $row;
        $found++;
        @rows = @{first_of(worst_of(\@rows))} if @rows > 1_000;    # thousands of idle peers are alike
    }
    return \@rows if $found == $peers;
    my (undef, @lines) = split /\n/, ${$text};
    return [grep { $_->[LIMIT] == $tx && $_->[TX] == $tx && $_->[TX_LOW] == $mark } map { row_of($_) } @lines];
}

# The rows of any other text of `peers`, and how many lines could not be read: 1.8's nine columns, no header, wrapped or damaged lines.
sub irregular_rows {
    my ($text) = @_;
    my $make = sub {
        my (@words) = @_;
        return if !is_nid($words[0]) || $words[2] !~ /^(?:up|down|NA|~rtr)$/ || grep { !/\A-?[0-9]+\z/ } @words[1, 3 .. $#words];
        return [@words[0, 2], map { 0 + $_ } @words[-6 .. -1]];
    };
    my @layouts = ('nid refs state last max rtr min tx min queue', 'nid refs state max rtr min tx min queue');
    return read_rows(${$text}, \@layouts, \&is_nid, $make);
}

sub is_nid {
    my ($word) = @_;
    return $word =~ /\A$NID\z/o;
}

# Rows of a table whose header words are the schema, read with forbearance as lnetstat/tables/_rows.py does: a missing header (the width
# of a row tells), rows wrapped over two lines, damaged lines. `$layouts`: header lines, the longest first; `$make`: a row of its words, or
# nothing for a bad one. Returns ([rows], number of bad lines); rows undef where nothing can be recognised, which counts as one; the third is
# how many lines that were.
sub read_rows {
    my ($text, $layouts, $starts_row, $make) = @_;
    $text =~ s/\A\xEF\xBB\xBF//;
    my @lines = map { length $_ > 4096 ? [] : [split] } grep { /\S/ } split /\r?\n/, $text;    # a longer line is no row
    my ($layout, $header) = find_header($layouts, @lines > 8 ? @lines[0 .. 7] : @lines);
    my ($width, $bad) = (0, 0);
    if ($layout) {
        ($width, $bad) = (scalar @{$lines[$header]}, $header);
        splice @lines, 0, $header + 1;
    }
    else {
        my %known = map { width_of($_) => $_ } @{$layouts};
        ($width) = map { scalar @{$_} } grep { $known{scalar @{$_}} && $starts_row->($_->[0]) } @lines;
        return (undef, 1, 1) if !$width;
        $layout = $known{$width};
    }
    my $columns = width_of($layout) - 1;    # more of them are of a release that we do not know
    my (@rows, $pending, $may_be_cut);
    foreach my $words (@lines) {
        my $is_joined = $pending && @{$pending} + @{$words} == $width && !$starts_row->($words->[0]);
        $bad++ if $pending && !$is_joined;
        $words = [@{$pending}, @{$words}] if $is_joined;
        undef $pending;
        $may_be_cut = @{$words} == $width && !$is_joined;
        if (@{$words} == $width) {
            my $row = $make->(@{$words}[0 .. $columns]);
            if ($row) { push @rows, $row }
            else      { $bad++ }
        }
        elsif (@{$words} && @{$words} < $width && $starts_row->($words->[0])) { $pending = $words }
        else                                                                  { $bad++ }
    }
    $bad++ if $pending;
    $bad++ if $may_be_cut && $text !~ /[\r\n]\z/;    # a last row without its line end
    return @rows || !$bad ? (\@rows, $bad, $bad) : (undef, 1, $bad);
}

# (layout, number of the line) of the first line that begins with the words of a layout.
sub find_header {
    my ($layouts, @lines) = @_;
    foreach my $at (0 .. $#lines) {
        my $words = "@{$lines[$at]} ";
        my ($layout) = grep { index($words, "$_ ") == 0 } @{$layouts};
        return ($layout, $at) if $layout;
    }
    return;
}

sub width_of {
    my ($layout) = @_;
    my @words = split q{ }, $layout;
    return scalar @words;
}

# ---- Which peers get series of their own: the worst, kept a while after leaving, so that series do not flap (reduce/top.py) ----

my ($STAY_S, $NEW_PER_DAY_MAX, $DAY_S) = (60, 200, 86_400);

sub new_top { return {last_s => {}, day => -1, seen => {}, turn => 0} }

# Take the NIDs of the worst peers at a time, worst first; return {NID => 1} of those that stand.
sub update_top {
    my ($top, $time_s, @nids) = @_;
    my $last_s = $top->{last_s};
    my $day = int $time_s / $DAY_S;
    if ($day != $top->{day}) {
        $top->{day}  = $day;
        $top->{seen} = {map { $_ => 1 } keys %{$last_s}};
    }
    foreach my $nid (@nids) {
        next if !$top->{seen}{$nid} && keys %{$top->{seen}} >= $NEW_PER_DAY_MAX;
        $top->{seen}{$nid} = 1;
        $last_s->{$nid} = [$time_s, $top->{turn}++];
    }
    foreach my $nid (keys %{$last_s}) {
        my $age_s = $time_s - $last_s->{$nid}[0];
        delete $last_s->{$nid} if $age_s > $STAY_S || $age_s < 0;
    }
    my @oldest = sort { $last_s->{$a}[1] <=> $last_s->{$b}[1] } keys %{$last_s};
    splice @oldest, -2 * $option{top} if @oldest > 2 * $option{top} || (@oldest = ());
    delete @{$last_s}{@oldest};
    return {map { $_ => 1 } keys %{$last_s}};
}

# ---- peers into records ----

my $recorded_top  = new_top();
my %line_at;    # NID => where its line began in the scan before: it has not moved far

# Read `peers` into the scan; returns what read_file() returns, the text without a copy in $scan->{text}.
sub read_peers {
    my ($scan, $path) = @_;
    my ($read, $errno, $tries) = (undef, 0, 0);
    while ($tries++ <= $STALE_RETRIES) {
        $read = {time => Time::HiRes::time(), text => q{}};
        begin_scan($scan);
        if (my $handle = open_regular($path)) {
            $ERRNO = 0;
            my $part;
            take_part($scan, \$part) while read $handle, $part, $BUFFER_BYTES;    # loops in C: a read(2) of 8 KiB for each record
            $errno = 0 + $ERRNO;
            $errno ||= 0 + $ERRNO if !close $handle;
        }
        else { $errno = 0 + $ERRNO }
        $read->{read_us} = int 1e6 * (Time::HiRes::time() - $read->{time});
        last if $errno != Errno::ESTALE();
    }
    $read->{is_regular} = end_scan($scan);
    my $is_partial = ($errno == Errno::ESTALE() || $errno == Errno::EINVAL()) && $scan->{text} ne q{};
    @{$read}{qw(state errno flags)} = ($is_partial ? 'partial' : state_of($errno), $errno, $tries > 1 ? 'retried' : q{});
    return $read;
}

# What the scan says: (nets, worst rows, bad lines, all rows of an irregular text).
sub survey {
    my ($scan, $is_regular) = @_;
    return (nets_of($scan), worst_of_scan($scan), 0) if $is_regular;
    my ($rows, $bad) = irregular_rows(\$scan->{text});
    return (undef, [], $bad, []) if !$rows;
    my $sums = new_scan();
    add_row($sums, $_, 1) foreach @{$rows};
    return (nets_of($sums), first_of(worst_of($rows)), $bad, $rows);
}

sub record_peers {
    my ($read) = @_;
    if ($read->{state} ne 'ok' && $read->{state} ne 'partial') {
        record_read($KEY, 'peers', $read);
        return;
    }
    my $text = \$recorded_scan->{text};
    my ($nets, $worst, undef, $irregular) = survey($recorded_scan, $read->{is_regular});
    foreach my $net (sort keys %{$nets || {}}) {
        main::record(2, "$KEY:$net " . join(q{ }, map { defined $_ ? $_ : q{-} } @{$nets->{$net}}) . "\n");
    }
    my $keep = update_top($recorded_top, int $read->{time}, map { $_->[NAME] } @{$worst});
    my $is_whole = $option{rows} && $scans++ % $option{rows} == 0;
    if ($is_whole || $irregular) {
        record_read($KEY, 'peers', {%{$read}, text => ${$text}});
        return;
    }
    my %rows_of;
    $rows_of{$_->[NAME]}++ foreach @{$worst};
    my %keep = ((map { $_->[NAME] => 1 } @{starved_of_scan($recorded_scan)}), %{$keep}, %rows_of);
    my $flags = join q{,}, grep { $_ ne q{} } $read->{flags}, 'worst';
    my $lines = join q{}, $HEADERS[$recorded_scan->{layout}], lines_of($text, \%keep, \%line_at);
    record_read($KEY, 'peers', {%{$read}, flags => $flags, text => $lines});
    return;
}

# The lines of these NIDs, in the order of a regular text. {NID => 1}, more than 1 for one of which there are several rows; `$line_at`:
# where they stood in the text before.
sub lines_of {
    my ($text, $nids, $line_at) = @_;
    my @found;
    foreach my $nid (keys %{$nids}) {
        my $near = $nids->{$nid} > 1 || !defined $line_at->{$nid} ? 0 : $line_at->{$nid} - $NEAR_BYTES;
        my $at = index ${$text}, "\n$nid ", $near > 0 ? $near : 0;
        $at = index ${$text}, "\n$nid " if $at < 0 && $near > 0;
        $line_at->{$nid} = $at + 1;
        while ($at >= 0) {
            push @found, $at + 1;
            $at = $nids->{$nid} > 1 ? index ${$text}, "\n$nid ", $at + 1 : -1;
        }
    }
    delete @{$line_at}{grep { !$nids->{$_} } keys %{$line_at}};
    return map { substr ${$text}, $_, 1 + index(${$text}, "\n", $_) - $_ } sort { $a <=> $b } @found;
}

# ---- From records to values: live and played back alike ----

my (%values, %parsed, %errors_of, %nets, %rates, $took_ms);
my $shown_scan = new_scan();
my $shown_top = new_top();
my $errors    = 0;
my @shown_peers;    # rows that stand in the top list
my %facts;          # what the printers want of nis, buffers, stats and routes

sub main::lnetInitInterval {
    (%values, %nets, %rates) = ();
    @shown_peers = ();
    undef $took_ms;
    return;
}

my %VALUES_OF = (
    stats => \&stats_values, buffers => \&buffers_values, nis => \&nis_values, routes => \&routes_values, routers => \&routers_values,
);

# Whether a table is to be shown: a raw file may hold more than `tables=` asks for.
sub is_wanted {
    my ($name) = @_;
    return grep { $_ eq $name } @{$option{tables}};
}

sub main::lnetAnalyze {
    my ($type, $data) = @_;
    if ($type =~ /^lnt:(.+)/s) {
        my $net = $1;
        return if !is_wanted('peers');
        my @total = map { $_ eq q{-} ? undef : $_ } split q{ }, ${$data};
        $nets{$net} = \@total if @total == @AGGREGATES;
        return;
    }
    if ($type eq 'lnt=took') {
        $took_ms = 0 + ${$data};
        return;
    }
    my ($name, $read) = recorded($KEY, $type, ${$data}) or return;
    return if !is_wanted($name);
    $errors++ if $read->{state} !~ /^(?:ok|absent)$/;
    if ($read->{state} ne 'ok' && $read->{state} ne 'partial') {
        delete $facts{$name};
        return;
    }
    if ($name eq 'peers') { peers_values($read) }
    elsif ($VALUES_OF{$name}) {
        my $same = $parsed{$name};
        if (!$same || $same->{text} ne $read->{text}) {
            my ($found, $fact, $bad) = $VALUES_OF{$name}->($read->{text});
            $same = $parsed{$name} = {text => $read->{text}, values => $found || [], fact => $fact, errors => $bad || 0};
        }
        tell_damage($name, $same->{errors});
        my $is_partial = $read->{state} eq 'partial';
        $values{$name} = [grep { !$is_partial || !$NEEDS_WHOLE_SCAN{$_->[0]} } @{$same->{values}}];
        rate_of_messages($read->{time}, $same->{fact}) if $name eq 'stats';
        $facts{$name} = $same->{fact};
    }
    return;
}

# Count lines that could not be read, and tell it when that begins and ends.
sub tell_damage {
    my ($name, $bad) = @_;
    $errors += $bad;
    tell_change("$name text", $bad ? "$name: lines that cannot be read: $bad; the rest is used" : q{}, "$name: whole again");
    return;
}

sub peers_values {
    my ($read) = @_;
    begin_scan($shown_scan);
    take_part($shown_scan, \$read->{text});
    my ($all, $worst, $bad, $rows) = survey($shown_scan, end_scan($shown_scan));
    tell_damage('peers', $bad);
    return if !$all;
    my @values;
    foreach my $net (sort keys %nets) {
        my %total;
        @total{@AGGREGATES} = @{$nets{$net}};
        $total{in_use_max} = $total{in_use};
        my $base = 'peers.' . net_node($net);
        my @known = grep { defined $total{$_} } @{$METRICS{'peers.NET'}};
        if ($read->{state} eq 'partial') {    # rows are missing: numbers and sums would be too low, the worst values are at least that bad
            push @values, map { ["$base.$_", $total{$_}] } grep { !$NEEDS_WHOLE_SCAN{"peers.NET.$_"} } @known;
            next;
        }
        push @values, map { ["$base.$_", $total{$_}] } @known;
        push @values, map { ["$base.hist.tx_share.$_", $total{$_}] } @{$METRICS{'peers.NET.hist.tx_share'}};
    }
    my %is_worst = map { $_->[NAME] => 1 } @{$worst};
    my $standing = update_top($shown_top, int $read->{time}, map { $_->[NAME] } @{$worst});
    my %left = map { $_ => 1 } grep { !$is_worst{$_} } keys %{$standing};
    my $left_rows = $rows || (%left ? (irregular_rows(\join q{}, lines_of(\$read->{text}, \%left, {})))[0] : undef);
    push @{$worst}, grep { $left{$_->[NAME]} && $_->[LIMIT] > 0 } @{$left_rows || []};
    my %row_of;    # rows of one NID as one: its worst values
    foreach my $row (grep { $standing->{$_->[NAME]} } @{$worst}) {
        my $joined = $row_of{$row->[NAME]} ||= [@{$row}];
        foreach my $field (RTR .. TX_LOW) { lower(\$joined->[$field], $row->[$field]) }
        $joined->[QUEUE] = $row->[QUEUE] if $row->[QUEUE] > $joined->[QUEUE];
    }
    my @top = @{worst_of([values %row_of])};
    @shown_peers = (@top, grep { !$row_of{$_->[NAME]} } @{starved_of($rows, $shown_scan)});
    foreach my $row (@top) {
        my $nid = $row->[NAME];
        my %value;
        @value{qw(rtr_credits rtr_credits_min tx_credits tx_credits_min queue_bytes)} = @{$row}[RTR .. QUEUE];
        my $base = 'peers.' . net_node(substr $nid, 1 + rindex $nid, q{@}) . '.top.' . nid_node($nid);
        push @values, map { ["$base.$_", $value{$_}] } @{$METRICS{'peers.NET.top.NID'}};
    }
    $values{peers} = \@values;
    return;
}

# Each of these returns ([[name, value], ...], what the printers want, lines that could not be read); no values for a text without rows.
sub stats_values {
    my ($text) = @_;
    my ($numbers, $end, $more) = $text =~ /\A\s*((?:[0-9]{1,20}[ \t]+){10}[0-9]{1,20})[ \t]*(\r?\n|\z)\s*(.?)/ or return (undef, undef, 1);
    my %total;
    @total{@{$METRICS{lnet_stats}}} = split q{ }, $numbers;
    my $bad = ($end eq q{} ? 1 : 0) + ($more eq q{} ? 0 : 1);
    return ([map { ["lnet_stats.$_", $total{$_}] } @{$METRICS{lnet_stats}}], \%total, $bad);
}

sub buffers_values {
    my ($text) = @_;
    my ($rows, undef, $bad) = read_rows($text, ['pages count credits min'], sub { $_[0] =~ /\A[0-9]+\z/ }, \&whole_numbers);
    my @pages = map { $_->[0] } @{$rows || []};
    my $cpts = @pages / 3;
    my $order = join q{}, map { $_ == 0 ? 't' : $_ == 1 ? 's' : 'l' } @pages;
    my $is_torn = $order ne ('t' x $cpts) . ('s' x $cpts) . ('l' x $cpts);    # the pools are being built
    return (undef, undef, $bad + $is_torn) if !$rows || $is_torn;
    my (@values, @pools);
    foreach my $pool (@pages ? qw(tiny small large) : ()) {
        my @of_pool = splice @{$rows}, 0, $cpts;
        my %value = (count => 0, in_use => 0);
        foreach my $row (@of_pool) {
            my (undef, $buffers, $credits, $low) = @{$row};
            $value{count}  += $buffers;
            $value{in_use} += $buffers - $credits;
            $value{credits_worst} = $credits if !defined $value{credits_worst} || $credits < $value{credits_worst};
            $value{credits_low}   = $low     if !defined $value{credits_low}   || $low < $value{credits_low};
        }
        $value{in_use_max} = $value{in_use};
        push @values, map { ["buffers.$pool.$_", $value{$_}] } @{$METRICS{'buffers.POOL'}};
        push @pools, {pool => $pool, %value};
    }
    return (\@values, \@pools, $bad);
}

sub whole_numbers {
    my (@words) = @_;
    return if grep { !/\A-?[0-9]+\z/ } @words;
    return [map { 0 + $_ } @words];
}

sub nis_values {
    my ($text) = @_;
    my %rows_of;
    my $make = sub {
        my ($nid, @words) = @_;
        my $cpt = $rows_of{$nid}++ || 0;    # damaged rows count too
        my $status = @words > 5 ? shift @words : undef;
        return if !is_nid($nid) || (defined $status && $status !~ /^(?:up|down)$/) || grep { !/\A-?[0-9]+\z/ } @words;
        return [$nid, $cpt, $status, map { 0 + $_ } @words[-3 .. -1]];
    };
    my ($rows, $bad) = read_rows($text, ['nid status alive refs peer rtr max tx min', 'nid refs peer max tx min'], \&is_nid, $make);
    return (undef, undef, $bad) if !$rows;
    my (@values, @nis);
    foreach my $row (@{$rows}) {
        my ($nid, $cpt, $status, $limit, $tx, $low) = @{$row};
        next if $limit == 0;    # the loopback NI holds no credits
        my %value = (tx_credits => $tx, tx_credits_min => $low, tx_credits_max => $limit);
        $value{up} = $status eq 'up' ? 1 : 0 if defined $status;
        my $base = 'nis.' . nid_node($nid) . ".cpt$cpt";
        push @values, map { defined $value{$_} ? ["$base.$_", $value{$_}] : () } @{$METRICS{'nis.NID.CPT'}};
        push @nis, {nid => $nid, cpt => $cpt, %value};
    }
    return (\@values, \@nis, $bad);
}

sub routes_values {
    my ($text) = @_;
    my $routing = $text =~ s/\A[\r\n]*\s*Routing (enabled|disabled|starting|stopping)[ \t\r]*(?:\n|\z)// ? $1 : undef;
    my ($rows, $bad) = ([], 0);
    if (!defined $routing || $text =~ /\S/) {
        my $starts = sub { $_[0] =~ /\A[a-z][a-z0-9]{0,15}\z/ };
        my $make = sub {
            my ($net, $hops, @more) = @_;
            my ($state, $router) = @more[-2, -1];
            return if !$starts->($net) || !is_nid($router) || $state !~ /^(?:up|down)$/;
            return if !whole_numbers($hops, @more[0 .. $#more - 2]);
            return ["$net by $router", $state];
        };
        ($rows, $bad) = read_rows($text, ['net hops priority state router', 'net hops state router'], $starts, $make);
        return (undef, undef, $bad) if !$rows;
    }
    my %value = (count => scalar @{$rows}, down => scalar grep { $_->[1] eq 'down' } @{$rows});
    $value{routing} = $routing eq 'enabled' ? 1 : 0 if defined $routing;
    $value{names_down} = names_down($rows);
    return ([map { defined $value{$_} ? ["routes.$_", $value{$_}] : () } @{$METRICS{routes}}], \%value, $bad);
}

sub names_down {
    my ($rows) = @_;
    return [map { $_->[0] } grep { $_->[1] eq 'down' } @{$rows}];
}

# Nothing of `routers` is sent; its state is shown.
sub routers_values {
    my ($text) = @_;
    my @layouts = ('ref rtr_ref alive_cnt state last_ping ping_sent deadline down_ni router', 'ref rtr_ref alive_cnt state last_ping router',
        'ref rtr_ref alive router');
    my $make = sub {
        my ($ref, $rtr_ref, @words) = @_;
        my $router = pop @words;
        my $state = @words == 1 ? shift @words : splice @words, 1, 1;
        return if !is_nid($router) || $state !~ /^(?:up|down|NA)$/;
        return if !whole_numbers($ref, $rtr_ref, grep { $_ ne 'NA' } @words);
        return [$router, $state];
    };
    my ($rows, $bad) = read_rows($text, \@layouts, sub { $_[0] =~ /\A-?[0-9]+\z/ }, $make);
    return (undef, undef, $bad) if !$rows;
    my $names_down = names_down($rows);
    return ([], {count => scalar @{$rows}, down => scalar @{$names_down}, names_down => $names_down}, $bad);
}

# Messages and bytes per second between two reads of `stats`. A length that falls is a reset: no rate. A count that falls alone has wrapped.
my $last_stats;

sub rate_of_messages {
    my ($time, $total) = @_;
    %rates = ();
    my $before = $last_stats;
    $last_stats = $total ? {%{$total}, time => $time} : undef;
    return if !$before || !$total || $time <= $before->{time};
    return if grep { $total->{"${_}_length"} < $before->{"${_}_length"} } qw(send recv route drop);
    foreach my $kind (qw(send recv route drop)) {
        my $messages = $total->{"${kind}_count"} - $before->{"${kind}_count"};
        $messages += 4_294_967_296 if $messages < 0;
        $rates{"${kind}_count"} = $messages / ($time - $before->{time});
        $rates{"${kind}_length"} = ($total->{"${kind}_length"} - $before->{"${kind}_length"}) / ($time - $before->{time});
    }
    return;
}

# ---- What is shown ----
#
# The summary is one line of node-wide numbers; columns are explained in README.md. A number that is not there is '-' on the terminal, NaN
# in plot files: it is neither zero nor negative.

my @SUMMARY = (    # [name in plot files, name in the line, width, format]
    [qw(Peers Peers 6 d)], [qw(PeersDown Down 5 d)], [qw(Oversubscribed Over 5 d)], [qw(InUse InUse 7 d)], [qw(TxCreditsWorst TxWst 6 d)],
    [qw(RtrCreditsWorst RtrWst 6 d)], [qw(QueueKB QueKB 8 d)], [qw(NiCreditsWorst NiWst 6 d)], [qw(BuffersWorst BufWst 6 d)],
    [qw(Messages Msg/s 8 .0f)], [qw(KB KB/s 9 .0f)], [qw(Drops Drop/s 6 .0f)],
);

# Values by the names of @SUMMARY; undef where unknown.
sub summary {
    my %now = (Messages => undef);
    foreach my $total (values %nets) {
        $now{Peers}          += $total->[COUNT];
        $now{PeersDown}      += $total->[DOWNS];
        $now{Oversubscribed} += $total->[OVER];
        $now{InUse}          += $total->[IN_USE];
        $now{QueueKB}        += int $total->[QUEUES] / 1024;
        lower(\$now{TxCreditsWorst}, $total->[TX_WORST]);
        lower(\$now{RtrCreditsWorst}, $total->[RTR_WORST]);
    }
    lower(\$now{NiCreditsWorst}, $_->{tx_credits})    foreach @{$facts{nis}     || []};
    lower(\$now{BuffersWorst},   $_->{credits_worst}) foreach @{$facts{buffers} || []};
    if (%rates) {
        $now{Messages} = $rates{send_count} + $rates{recv_count} + $rates{route_count};
        $now{KB} = ($rates{send_length} + $rates{recv_length} + $rates{route_length}) / 1024;
        $now{Drops} = $rates{drop_count};
    }
    return \%now;
}

sub lower {
    my ($lowest, $value) = @_;
    ${$lowest} = $value if defined $value && (!defined ${$lowest} || $value < ${$lowest});
    return;
}

sub cell {
    my ($width, $format, $value) = @_;
    return defined $value ? sprintf "%$width$format", $value : sprintf "%${width}s", q{-};
}

my (%sums, $intervals);

sub main::lnetPrintBrief {
    my ($type, $line) = @_;
    my $width = -1;
    $width += 1 + $_->[2] foreach @SUMMARY;
    if ($type == 1) {
        my $title = 'LNet';
        my $dashes = $width - 2 - length $title;
        ${$line} .= '<' . ('-' x ($dashes / 2)) . $title . ('-' x ($dashes - int $dashes / 2)) . '>';
    }
    elsif ($type == 2) { ${$line} .= join q{ }, map { sprintf "%$_->[2]s", $_->[1] } @SUMMARY }
    elsif ($type == 3) {
        my $now = summary();
        ${$line} .= join q{ }, map { cell($_->[2], $_->[3], $now->{$_->[0]}) } @SUMMARY;
    }
    elsif ($type == 4) { %sums = () }
    elsif ($type == 5) {
        my $now = summary();
        foreach my $name (grep { defined $now->{$_} } keys %{$now}) {
            $sums{$name}[0] += $now->{$name};
            $sums{$name}[1]++;
        }
    }
    elsif ($type == 6) {    # averages of what was there
        print join(q{ }, map { cell($_->[2], $_->[3], $sums{$_->[0]} ? $sums{$_->[0]}[0] / $sums{$_->[0]}[1] : undef) } @SUMMARY);
    }
    return;
}

my @NET_COLUMNS = qw(6 5 5 5 7 6 6 6 6 10 10 6 6 6 6 7 8);
my $NET_TITLE = sprintf '%-10s %6s %5s %5s %5s %7s %6s %6s %6s %6s %10s %10s %6s %6s %6s %6s %7s %8s',
    qw(Net Peers Down Over OvLow InUse TxWst TxLow RtrWst RtrLow Queue QueMax <0 0-25% 25-50 50-75 75-100 Limit);

sub main::lnetPrintVerbose {
    my ($print_header, $home, $line) = @_;
    my $text = q{};
    if ($option{show} =~ /s/) {
        $text .= "# LNET SUMMARY: peers of each net; worst NI, worst buffers, traffic\n#$NET_TITLE\n";
        foreach my $net (sort keys %nets) {
            my $total = $nets{$net};
            $text .= sprintf(' %-10s ', $net) . join(q{ }, map { cell($NET_COLUMNS[$_], 'd', $total->[$_]) } 0 .. $#NET_COLUMNS) . "\n";
        }
        my $now = summary();
        $text .= '#' . join(q{ }, map { sprintf "%$_->[2]s", $_->[1] } @SUMMARY[7 .. $#SUMMARY]) . "\n";
        $text .= q{ } . join(q{ }, map { cell($_->[2], $_->[3], $now->{$_->[0]}) } @SUMMARY[7 .. $#SUMMARY]) . "\n";
    }
    $text .= detail() if $option{show} =~ /d/;
    ${$line} .= $text;
    return;
}

sub detail {
    my $text = "# LNET DETAIL: worst peers, NIs by CPT, router buffers, routes\n";
    $text .= sprintf "#%-39s %6s %6s %6s %6s %6s %10s %5s\n", qw(Peer Max Tx TxLow Rtr RtrLow Queue State);
    foreach my $row (@shown_peers) {
        $text .= sprintf " %-39s %6d %6d %6d %6d %6d %10d %5s\n", @{$row}[NAME, LIMIT, TX, TX_LOW, RTR, RTR_LOW, QUEUE, STATE];
    }
    $text .= sprintf "#%-39s %6s %6s %6s %6s %6s\n", qw(NI Max Tx TxLow CPT State);
    foreach my $ni (@{$facts{nis} || []}) {
        my $state = !defined $ni->{up} ? q{-} : $ni->{up} ? 'up' : 'down';
        $text .= sprintf " %-39s %6d %6d %6d %6d %6s\n", @{$ni}{qw(nid tx_credits_max tx_credits tx_credits_min cpt)}, $state;
    }
    $text .= sprintf "#%-39s %6s %6s %6s %6s\n", qw(Pool Count InUse Worst Low);
    foreach my $pool (@{$facts{buffers} || []}) {
        $text .= sprintf " %-39s %6d %6d %6d %6d\n", @{$pool}{qw(pool count in_use credits_worst credits_low)};
    }
    if (my $routes = $facts{routes}) {
        my $routing = !defined $routes->{routing} ? 'not told' : $routes->{routing} ? 'enabled' : 'disabled';
        $text .= down_line('Routes', $routes) . "#Routing of this node: $routing\n";
    }
    $text .= down_line('Routers', $facts{routers}) if $facts{routers};
    return $text;
}

# How many there are and which are down, a few of them by name.
sub down_line {
    my ($what, $fact) = @_;
    my @names = @{$fact->{names_down}};
    my $more = @names > 8 ? ' ...' : q{};
    splice @names, 8 if $more;
    return "#$what: $fact->{count}, down: $fact->{down}" . (@names ? " (@names$more)" : q{}) . "\n";
}

my @plot_columns;    # names of the detail columns, fixed when the header is written

sub main::lnetPrintPlot {
    my ($type, $line) = @_;
    my $sep = $main::SEP;
    if ($type == 1) { ${$line} .= join q{}, map { "[LNET]$_->[0]$sep" } @SUMMARY }
    elsif ($type == 2) {
        @plot_columns = map { $_->[0] } grep { $_->[0] !~ /[.]top[.]/ } all_values();    # the worst peers come and go
        ${$line} .= join q{}, map { "[LNET:$_]$sep" } @plot_columns;
    }
    elsif ($type == 3) {
        my $now = summary();
        ${$line} .= join q{}, map { $sep . (defined $now->{$_->[0]} ? sprintf "%$_->[3]", $now->{$_->[0]} : 'NaN') } @SUMMARY;
    }
    elsif ($type == 4) {
        my %now = map { @{$_} } all_values();
        ${$line} .= join q{}, map { $sep . (defined $now{$_} ? $now{$_} : 'NaN') } @plot_columns;
    }
    return;
}

# Every [name, value] of this sample, in the order of the tables.
sub all_values {
    return map { @{$values{$_} || []} } qw(peers nis buffers stats routes);
}

my %UNIT_OF = (queue_bytes => 'bytes', queue_bytes_max => 'bytes', up => 'up', routing => 'yes');

sub main::lnetPrintExport {
    my ($type, @lists) = @_;
    my @all = all_values();
    if ($type eq 'g') {
        # stock graphite.ph would send those of lnet.ph and of lustre_oss.ph under one name
        my $is_ours = defined $main::expName && $main::expName eq 'lnetcarbon';
        push @all, ['self.errors', $errors], defined $took_ms ? ['self.duration_ms', $took_ms] : () if $is_ours;
        push @{$lists[0]}, map { $_->[0] } @all;
        push @{$lists[1]}, map { unit_of($_->[0]) } @all;
        push @{$lists[2]}, map { $_->[1] } @all;
        push @{$lists[3]}, map { 'lnet' } @all if $lists[3];    # gexpr: group and title
        push @{$lists[4]}, map { $_->[0] } @all if $lists[4];
    }
    elsif ($type eq 'l') {    # names, values, gauge flags and formats of the summary and of the detail
        my @detail = grep { $_->[0] =~ /[.]top[.]/ } @all;
        my @summary = grep { $_->[0] !~ /[.]top[.]/ } @all;
        foreach my $half (0, 1) {
            my @half = $half ? @detail : @summary;
            next if $option{show} !~ ($half ? qr/d/ : qr/s/);
            push @{$lists[2 * $half]}, map { "lnet.$_->[0]" } @half;
            push @{$lists[2 * $half + 1]}, map { $_->[1] } @half;
            push @{$lists[4 + $half]}, map { 1 } @half if $lists[4 + $half];
            push @{$lists[6 + $half]}, map { '%s' } @half if $lists[6 + $half];    # lexpr's own format is off by one below zero
        }
    }
    return;
}

sub unit_of {
    my ($name) = @_;
    my ($leaf) = $name =~ /([^.]+)\z/;
    return $UNIT_OF{$leaf} || ($leaf =~ /_length$/ ? 'bytes' : $leaf =~ /credits/ ? 'credits' : 'count');
}

1;
