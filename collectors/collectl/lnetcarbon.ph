# lnetcarbon.ph: sends what collectl's import modules export to Carbon, in place of collectl's own graphite.ph.
#
#     collectl --import ./lnet.ph,sd --export ./lnetcarbon.ph,carbon.site.org:2003
#     collectl -p HOST-DATE-TIME.raw.gz --import ./lnet.ph --export ./lnetcarbon.ph,carbon.site.org       loads the past, with its stamps
#
#     HOST[:PORT]        where Carbon takes plain lines over TCP; 2003 where no port is given; an IPv6 address in brackets: [fd00::1]:2003
#     prefix=lnet        what all names begin with; dots make several nodes
#     host=NAME          the node's name in Graphite, instead of its short host name
#     spool=DIR          where points wait that no longer fit in memory; by default a folder lnetcarbon.spool beside the raw files (-f);
#                        without -f and when playing back only memory
#     spool_max=64M      how much may wait there, apart from memory; the oldest goes first
#     timeout=10         seconds: a connection that does not come about, or takes nothing for so long, is given up and tried again
#     series_max=500     how many different names this node may send; 200 or more
#     dry                print the lines instead of sending them
#
# What it does that graphite.ph does not: the stamp is the second of the sample, not of the sending (so playing back loads history, twice
# the same); fractions and negative numbers stay; samples of less than a second are reduced as each metric says (%REDUCE); one write a
# sample; and it never waits: Carbon may be down, hang or be slow, the next sample comes in time.

package Lnetstat::Carbon;
use strict;
use warnings;
use English qw(-no_match_vars);
use Errno ();
use Fcntl ();
use File::Basename ();
use POSIX ();
use Scalar::Util ();
use Socket ();
use Time::HiRes ();

my $FILE = 'lnetcarbon.ph';

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
    'counters.INSTANCE.COUNTER' => [qw(samples sum)],
    'self' => [qw(duration_ms late errors series spooled sent resent lost rss_bytes)],
);
# What the samples of one second become.
my %REDUCE = (
    'peers.NET.count' => 'last',
    'peers.NET.down' => 'last',
    'peers.NET.oversubscribed' => 'max',
    'peers.NET.oversubscribed_low' => 'max',
    'peers.NET.in_use' => 'mean',
    'peers.NET.in_use_max' => 'max',
    'peers.NET.tx_credits_worst' => 'min',
    'peers.NET.tx_credits_low' => 'min',
    'peers.NET.rtr_credits_worst' => 'min',
    'peers.NET.rtr_credits_low' => 'min',
    'peers.NET.queue_bytes' => 'max',
    'peers.NET.queue_bytes_max' => 'max',
    'peers.NET.hist.tx_share.BUCKET' => 'last',
    'peers.NET.top.NID.tx_credits' => 'min',
    'peers.NET.top.NID.tx_credits_min' => 'min',
    'peers.NET.top.NID.rtr_credits' => 'min',
    'peers.NET.top.NID.rtr_credits_min' => 'min',
    'peers.NET.top.NID.queue_bytes' => 'max',
    'nis.NID.CPT.tx_credits' => 'min',
    'nis.NID.CPT.tx_credits_min' => 'min',
    'nis.NID.CPT.tx_credits_max' => 'last',
    'nis.NID.CPT.up' => 'min',
    'buffers.POOL.count' => 'last',
    'buffers.POOL.in_use' => 'mean',
    'buffers.POOL.in_use_max' => 'max',
    'buffers.POOL.credits_worst' => 'min',
    'buffers.POOL.credits_low' => 'min',
    'lnet_stats.msgs_alloc' => 'max',
    'lnet_stats.msgs_max' => 'max',
    'lnet_stats.errors' => 'last',
    'lnet_stats.send_count' => 'last',
    'lnet_stats.recv_count' => 'last',
    'lnet_stats.route_count' => 'last',
    'lnet_stats.drop_count' => 'last',
    'lnet_stats.send_length' => 'last',
    'lnet_stats.recv_length' => 'last',
    'lnet_stats.route_length' => 'last',
    'lnet_stats.drop_length' => 'last',
    'routes.count' => 'last',
    'routes.down' => 'last',
    'routes.routing' => 'last',
    'counters.INSTANCE.COUNTER.samples' => 'last',
    'counters.INSTANCE.COUNTER.sum' => 'last',
    'self.duration_ms' => 'max',
    'self.late' => 'last',
    'self.errors' => 'last',
    'self.series' => 'last',
    'self.spooled' => 'last',
    'self.sent' => 'last',
    'self.resent' => 'last',
    'self.lost' => 'last',
    'self.rss_bytes' => 'max',
);
my $SERIES_MAX = 500;
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

my $MEMORY_MAX_BYTES  = 1_048_576;    # what waits in memory, and apart from that what is remembered for writing it again
my $CHUNK_BYTES       = 65_536;       # one write from the backlog
my $BACKLOG_BYTES     = 262_144;      # the backlog's share of one sample: an hour of 300 series is through in about five minutes
my $BACKLOG_S         = 0.002;        # and of its time
my $RESEND_S          = 60;           # what was written so lately may have died with the connection: it is written again
my $END_S             = 1;            # to deliver what is left when collectl ends
my $RESOLVE_EVERY_S   = 300;
my $TRY_S_MIN         = 1;
my $TRY_S_MAX         = 30;
my $TRIES_A_MINUTE    = 6;
my $SEND_BUFFER_BYTES = 65_536;       # small: what the kernel holds is lost when the peer dies, and a hung peer shows sooner
my $NO_SIGNAL         = 0x4000;       # MSG_NOSIGNAL: older Socket.pm does not name it; no SIGPIPE, so collectl's handler stays as it is
my %TCP = (keepalive_idle => 4, keepalive_interval => 5, keepalive_probes => 6, user_timeout => 18);    # tcp(7), not in every Socket.pm

my %OPTION;

# Local, so that collectl keeps the raw file beside the export: graphite.ph asks for --rawtoo, here -f alone says it.
# exportComm: this module has its own socket, collectl may run as a daemon without -f or -A.
{
    no warnings 'once';
    $main::exportComm = 1 | ($main::exportComm || 0);
    $main::rawtooFlag = 1 if $main::filename ne q{} && !$main::plotFlag && $main::playback eq q{};
}

# ---- options ----

my $SERIES_MAX_MIN = 200;    # as the agent: below that the share of the top peers leaves too little for all others
my %CHECK = (
    prefix     => [sub { length $_[0] && $_[0] !~ /\A[.]|[.][.]|[.]\z/ }, 'a name, or names with dots between them'],
    host       => [sub { length $_[0] },                         'a name'],
    spool      => [sub { length $_[0] },                         'a folder'],
    spool_max  => [sub { defined bytes_of($_[0]) },              'bytes, with k, M or G, for example 64M'],
    timeout    => [sub { $_[0] =~ /\A[0-9]+(?:[.][0-9]+)?\z/ && $_[0] > 0 }, 'seconds above 0'],
    series_max => [sub { $_[0] =~ /\A[1-9][0-9]{2,6}\z/ && $_[0] >= $SERIES_MAX_MIN }, "a number of at least $SERIES_MAX_MIN"],
);

# 64M -> 67108864; nothing where it is no size above 0.
sub bytes_of {
    my ($text) = @_;
    my ($number, $unit) = $text =~ /\A([1-9][0-9]{0,11})([kKmMgG]?)\z/ or return;
    my %times = (q{} => 1, k => 1 << 10, m => 1 << 20, g => 1 << 30);
    return $number * $times{lc $unit};
}

# (host, port) of HOST, HOST:PORT, [IPV6] or [IPV6]:PORT. Dies of what is mistyped, as set_options does.
sub address_of {
    my ($text) = @_;
    my ($host, $port);
    my $ipv6 = qr/[0-9a-fA-F:.]*:[0-9a-fA-F:.]*(?:%[A-Za-z0-9_.-]+)?/;
    if ($text =~ /\A\[($ipv6)\](?::([0-9]{1,5}))?\z/ || $text =~ /\A([A-Za-z0-9_.-]+)(?::([0-9]{1,5}))?\z/) {
        ($host, $port) = ($1, defined $2 ? $2 : 2003);
    }
    if (!defined $host || $port < 1 || $port > 65_535) {
        die "address '$text': expected HOST, HOST:PORT or [IPV6]:PORT, for example carbon.site.org:2003\n";
    }
    return ($host, $port);
}

sub set_options {
    my ($address, @words) = @_;
    $address = q{} if !defined $address;
    %OPTION = (prefix => 'lnet', host => undef, spool => undef, spool_max => '64M', timeout => 10, series_max => $SERIES_MAX, dry => 0);
    if ($address eq 'dry') {
        unshift @words, $address;
    }
    else {
        @OPTION{qw(name port)} = address_of($address);
    }
    foreach my $word (@words) {
        my ($name, $value) = split /=/, $word, 2;
        $name = q{} if !defined $name;
        if ($name eq 'dry' && !defined $value) {
            $OPTION{dry} = 1;
            next;
        }
        my $check = $CHECK{$name};
        my $known = join ', ', 'dry', map {"$_="} sort keys %CHECK;
        die "option '$word': expected one of $known\n" if !$check;
        die "option '$word': expected $check->[1]\n" if !defined $value || !$check->[0]->($value);
        $OPTION{$name} = $value;
    }
    $OPTION{spool_max} = bytes_of($OPTION{spool_max});
    $OPTION{playback}  = $main::playback ne q{};
    if (!defined $OPTION{spool} && !$OPTION{playback} && $main::filename ne q{}) {
        $OPTION{spool} = (-d $main::filename ? $main::filename : File::Basename::dirname($main::filename)) . '/lnetcarbon.spool';
    }
    $OPTION{spool} = undef if $OPTION{dry};
    return;
}

# ---- telling ----

my %TOLD;

# Tell a state once when it begins; `$words` say it. The state of something is '' in the beginning.
sub tell_state {
    my ($what, $state, $words) = @_;
    my $before = defined $TOLD{$what} ? $TOLD{$what} : q{};
    return if $state eq $before;
    $TOLD{$what} = $state;
    tell_user($words) if length $words;
    return;
}

# One line where somebody can see it: collectl's log (-m with -f), the terminal, else standard error.
sub tell_user {
    my ($text) = @_;
    $text = "$FILE: $text";
    main::logmsg('W', $text);
    my $logged  = $main::msgFlag  && $main::filename ne q{};
    my $printed = $main::termFlag && !$main::daemonFlag && (!$main::quietFlag || $main::msgFlag);
    print {*STDERR} "$text\n" if !$logged && !$printed;
    return;
}

# ---- names ----

my $BASE = q{};       # "PREFIX.HOST."
my %PATH;             # a module's name => its whole path and a blank; '' for a name too many
my %REDUCTION;        # a module's name => last, min, max or mean
my $OTHERS     = 0;   # series but those of the top peers, which have a share of their own: lnet.ph bounds them
my $OTHERS_MAX = 0;
my $REFUSED    = 0;   # different names beyond the limit
my @PATTERNS;

# Begin for a host: playing back, one run can have the files of many.
sub begin_names {
    my ($host) = @_;
    my $base = join(q{.}, map { plain_node($_) } split /[.]/, $OPTION{prefix}) . q{.} . host_node($host) . q{.};
    return if $base eq $BASE;
    $BASE       = $base;
    $OTHERS_MAX = $OPTION{series_max} - 2 * $TOP_PEERS * @{$METRICS{'peers.NET.top.NID'}};
    $OTHERS_MAX = 0 if $OTHERS_MAX < 0;
    @PATTERNS   = map { [[split /[.]/], $REDUCE{$_}] } sort keys %REDUCE;
    forget_names();
    return;
}

sub forget_names {
    %PATH   = %REDUCTION = ();
    $OTHERS = $REFUSED = 0;
    return;
}

# One node of a name that somebody else's module may have made.
sub plain_node {
    my ($node) = @_;
    return $node =~ /\A[A-Za-z0-9_-]{1,200}\z/ ? $node : hex_node($node);    # a file name ends at 255
}

# The path of a name that is sent for the first time; '' where the node sends too many names already.
sub admit {
    my ($name) = @_;
    return q{} if defined $PATH{$name};
    forget_names() if keys %PATH > 2 * $OPTION{series_max} + 10_000;    # new top peers, day after day
    my @nodes = split /[.]/, $name, -1;
    if (@nodes != 5 || $nodes[2] ne 'top') {                            # a net may be called top
        if ($OTHERS >= $OTHERS_MAX) {
            $REFUSED++;
            tell_state('series', 'refused', "more than $OPTION{series_max} series: what is new is not sent (series_max=)");
            return $PATH{$name} = q{};
        }
        $OTHERS++;
    }
    return $PATH{$name} = $BASE . join(q{.}, map { plain_node($_) } @nodes) . q{ };
}

# What becomes of a second of values: as lnetstat/reduce/metrics.py says; the last one where it is somebody else's name.
sub reduction_of {
    my ($name) = @_;
    my @nodes = split /[.]/, $name, -1;
    foreach my $pattern (@PATTERNS) {
        my ($words, $reduction) = @{$pattern};
        next if @{$words} != @nodes;
        return $REDUCTION{$name} = $reduction if !grep { $words->[$_] ne $nodes[$_] && $words->[$_] !~ /\A[A-Z]+\z/ } 0 .. $#nodes;
    }
    return $REDUCTION{$name} = 'last';
}

# ---- one sample ----

my $LOST   = 0;        # points that were dropped: no room, or no number
my $LATE   = 0;        # samples that came late
my $COUNT  = 0;        # points of the latest second
my $BEFORE = undef;    # when the sample before was
my $SECOND = undef;    # the second of the latest sample
my @LATEST;            # its names and values, where it was sent at once
my %VALUE;             # name => value of $SECOND so far, where it has several samples
my %SAMPLES;           # name => how many
my @NAMES;             # in the order in which they came

# One sample, taken at $time. Where samples are a second apart or more, its second is over with it and it is sent at once; else the second
# is sent with the first sample of the next.
sub sample {
    my ($time) = @_;
    my @sets   = (modules_values(), own_values($time));
    my $second = POSIX::floor($time);
    my $again  = defined $SECOND && $second == $SECOND;
    send_second() if @NAMES && !$again;
    if ($main::interval >= 1 && !$again) {
        @LATEST = @sets;
        offer($second, @sets);
    }
    else {    # where intervals are whole seconds only after the clock was set back: the second is told again, with both samples
        reduce(splice @LATEST) if $again;
        reduce(@sets);
        offer($second, reduced()) if $main::interval >= 1;
    }
    $SECOND = $second;
    return;
}

# Names and values of all modules. What each tells of itself comes last in its list, and is added up over the modules.
my %ADDED;

sub modules_values {
    my (@names, @units, @values);
    %ADDED = ();
    foreach my $module (@main::impPrintExport[0 .. $main::impNumMods - 1]) {
        main->can($module)->('g', \@names, \@units, \@values);
        while (@names && index($names[-1], 'self.') == 0) {
            my $value = number(pop @values);
            $ADDED{substr pop @names, 5} += $value if defined $value;
        }
    }
    return [\@names, \@values];
}

# Names and values of this module's own, with what the others told of themselves.
sub own_values {
    my ($time) = @_;
    $LATE++ if defined $BEFORE && $main::interval > 0 && $time - $BEFORE > 1.5 * $main::interval;
    $BEFORE = $time;
    my %self = (%ADDED, late => $LATE, series => $OTHERS > $COUNT ? $OTHERS : $COUNT, lost => $LOST, rss_bytes => rss_bytes());
    @self{qw(spooled sent resent)} = counts();
    my @leaves = grep { defined $self{$_} } @{$METRICS{self}};
    return [[map { "self.$_" } @leaves], [@self{@leaves}]];
}

# This process's resident memory; nothing where /proc hides it.
sub rss_bytes {
    sysopen my $handle, '/proc/self/statm', Fcntl::O_RDONLY() or return;
    my $got = sysread $handle, my $text, 128;
    close $handle or return;
    return $got ? (split q{ }, $text)[1] * POSIX::sysconf(POSIX::_SC_PAGESIZE()) : undef;
}

# Take sets of names and values into the second.
sub reduce {
    my (@sets) = @_;
    foreach my $set (@sets) {
        my ($names, $values) = @{$set};
        foreach my $at (0 .. $#{$names}) {
            my $value = number($values->[$at]);
            if   (defined $value) { add_value($names->[$at], $value) }
            else                  { $LOST++ }
        }
    }
    return;
}

sub add_value {
    my ($name, $value) = @_;
    if (!exists $VALUE{$name}) {
        push @NAMES, $name;
        $VALUE{$name}   = $value;
        $SAMPLES{$name} = 1;
        return;
    }
    my $reduction = $REDUCTION{$name} || reduction_of($name);
    $SAMPLES{$name}++;
    if ($reduction eq 'mean') {
        $VALUE{$name} += $value;
    }
    elsif ($reduction eq 'last' || ($reduction eq 'min' ? $value < $VALUE{$name} : $value > $VALUE{$name})) {
        $VALUE{$name} = $value;
    }
    return;
}

# The second's names and values.
sub reduced {
    my @values = map { ($REDUCTION{$_} || q{}) eq 'mean' ? $VALUE{$_} / $SAMPLES{$_} : $VALUE{$_} } @NAMES;
    return [[@NAMES], \@values];
}

# Send a second that is over.
sub send_second {
    offer($SECOND, reduced()) if @NAMES && $main::interval < 1;
    %VALUE = %SAMPLES = @NAMES = ();
    return;
}

# A value as Carbon reads it, with all its digits; nothing where it is no finite number.
sub number {
    my ($value) = @_;
    return if !defined $value || !Scalar::Util::looks_like_number($value);
    return $value if $value =~ /\A-?[0-9]+\z/;
    return if $value - $value != 0;    # inf - inf is no number, and neither is nan
    return sprintf '%.0f', $value if abs $value < 1e16 && $value == int $value;
    my ($short, $long) = (sprintf('%.15g', $value), sprintf '%.17g', $value);
    return $short == $value ? $short : $long;
}

# Put all values of a second into the queue.
sub offer {
    my ($second, @sets) = @_;
    my $text = join q{}, map { lines_of($second, @{$_}) } @sets;
    $COUNT = $text =~ tr/\n//;
    return enqueue($text, $COUNT) if !$OPTION{dry};
    print $text or die "cannot print: $ERRNO\n";
    return;
}

# The lines of one second. This is where the time goes with hundreds of metrics: no call for a known name with a whole number.
sub lines_of {
    my ($second, $names, $values) = @_;
    ($names, $values) = finite($names, $values) if !are_whole($values);
    my $end  = " $second\n";
    my $text = q{};
    foreach my $at (0 .. $#{$names}) {
        my $path = $PATH{$names->[$at]} || admit($names->[$at]) || next;
        $text .= $path . $values->[$at] . $end;
    }
    return $text;
}

# Tell whether all values are whole numbers, looking at all of them in one go.
sub are_whole {
    my ($values) = @_;
    no warnings 'uninitialized';
    my $all = join "\n", q{}, @{$values}, q{};
    return !($all =~ tr/-0-9\n//c) && index($all, "\n\n") < 0 && index($all, "-\n") < 0;
}

# The names and values without those that are no finite numbers; these are counted as lost.
sub finite {
    my ($names, $values) = @_;
    my @numbers = map { scalar number($_) } @{$values};
    my @good    = grep { defined $numbers[$_] } 0 .. $#numbers;
    $LOST += @numbers - @good;
    return ([@{$names}[@good]], [@numbers[@good]]);
}

# ---- the queue ----
#
# A chunk is {text, points, written}: whole lines of one second, or a piece of the backlog; `written`: when it was last written. What waits
# to be written for the first time is in @WAITING, where that grows too long on disk (@SEGMENTS, older than all in memory). What was written
# lately is in @RECENT, and after a lost connection in @AGAIN: Carbon takes a point twice without harm.
#
# The newest chunk goes first, then the oldest: what a dashboard shows is there at once after an outage, and the gap fills behind it.

my (@WAITING, @RECENT, @AGAIN);
my @SEGMENTS;       # {file, bytes, points, offset}, oldest first; points: those from offset on
my ($WAITING_BYTES, $RECENT_BYTES) = (0, 0);
my $FLIGHT;         # the chunk that is being written,
my $OFFSET = 0;     # from here on
my $IS_FRESH = 0;   # the last one in @WAITING is of this very sample
my ($SENT, $RESENT) = (0, 0);
my $DROPPED = 0;    # points that were to be sent and never will be

my $SPOOL_BYTES = 0;
my $SPOOL_NEXT  = 1;
my $SPOOL_LOCK;          # its handle; false where the folder cannot be used
my $SPOOL_RETRY_S = 60;
my $SPOOL_TRIED_AT;

# Points that wait, that were sent, that were sent again.
sub counts {
    my $waiting = 0;
    $waiting += $_->{points} foreach @WAITING, @SEGMENTS, $FLIGHT && !$FLIGHT->{written} ? $FLIGHT : ();
    return ($waiting, $SENT, $RESENT);
}

sub enqueue {
    my ($text, $points) = @_;
    return if !$points;
    push @WAITING, {text => $text, points => $points};
    $WAITING_BYTES += length $text;
    $IS_FRESH = 1;
    make_room() if $WAITING_BYTES > memory_max();
    return;
}

# What may wait in memory: with a small spool less, so that a segment is a small part of it. spool_max= bounds the disk alone: where the
# folder cannot be used it says nothing.
sub memory_max {
    return $MEMORY_MAX_BYTES if !$SPOOL_LOCK || $TOLD{spool} || $OPTION{spool_max} >= 8 * $MEMORY_MAX_BYTES;
    return int $OPTION{spool_max} / 8;
}

# All but the newest goes to disk; where there is no disk, the oldest goes.
sub make_room {
    my @older = save_chunks(splice @WAITING, 0, -1);
    $WAITING_BYTES = length $WAITING[0]{text};
    $WAITING_BYTES += length $_->{text} foreach @older;
    unshift @WAITING, @older;
    while (@WAITING > 1 && $WAITING_BYTES > memory_max()) {
        my $oldest = shift @WAITING;
        $WAITING_BYTES -= length $oldest->{text};
        lose($oldest->{points});
    }
    return;
}

sub lose {
    my ($points) = @_;
    $LOST    += $points;
    $DROPPED += $points;
    tell_state('dropping', 'dropping', 'no room for more points: the oldest are dropped from now on') if $points;
    return;
}

# What somebody did to a segment.
sub lose_damaged {
    my ($segment, $points) = @_;
    $LOST    += $points;
    $DROPPED += $points;
    tell_state('damaged', 'damaged', "spool $segment->{file}: damaged: what are no points any more is dropped and counted") if $points;
    return;
}

# The chunk to write next; false where there is none.
sub next_chunk {
    $OFFSET = 0;
    if ($IS_FRESH && @WAITING) {
        $IS_FRESH = 0;
        $FLIGHT   = pop @WAITING;
        $WAITING_BYTES -= length $FLIGHT->{text};
    }
    elsif (@AGAIN) {
        $FLIGHT = shift @AGAIN;
    }
    elsif ($FLIGHT = segment_chunk()) {
        return 1;
    }
    elsif ($FLIGHT = shift @WAITING) {
        $WAITING_BYTES -= length $FLIGHT->{text};
    }
    return defined $FLIGHT;
}

# The chunk in flight was written.
sub written {
    my ($now) = @_;
    if ($FLIGHT->{written}) { $RESENT += $FLIGHT->{points} }
    else                    { $SENT   += $FLIGHT->{points} }
    $FLIGHT->{written} = $now;
    push @RECENT, $FLIGHT;
    $RECENT_BYTES += length $FLIGHT->{text};
    $FLIGHT = undef;
    forget_recent($now);
    return;
}

sub forget_recent {
    my ($now) = @_;
    while (@RECENT && ($RECENT_BYTES > $MEMORY_MAX_BYTES || $RECENT[0]{written} < $now - $RESEND_S)) {
        $RECENT_BYTES -= length $RECENT[0]{text};
        shift @RECENT;
    }
    return;
}

# The connection broke: what was written lately and the chunk in flight are to be written again.
sub put_back {
    my ($now) = @_;
    forget_recent($now);
    if ($FLIGHT && $FLIGHT->{written}) {
        unshift @AGAIN, $FLIGHT;
    }
    elsif ($FLIGHT) {
        unshift @WAITING, $FLIGHT;
        $WAITING_BYTES += length $FLIGHT->{text};
    }
    $FLIGHT = undef;
    @AGAIN  = (@RECENT, @AGAIN);
    @RECENT = ();
    $RECENT_BYTES = 0;
    my $bytes = 0;
    $bytes += length $_->{text} foreach @AGAIN;
    while ($bytes > $MEMORY_MAX_BYTES) {
        $bytes -= length shift(@AGAIN)->{text};
    }
    return;
}

# ---- the spool: what waits on disk ----
#
# A segment is a file of whole lines that is written once, under another name until it is whole, and removed when its last piece has been
# sent: SEQUENCE.POINTS. What one collectl leaves behind the next one finds. One process at a time: a lock.

# Tell whether the folder is there and ours; where it is not, told once and tried again a minute later.
sub spool_is_open {
    return 0 if !defined $OPTION{spool};
    return 1 if $SPOOL_LOCK;
    my $now = now_s();
    return 0 if defined $SPOOL_TRIED_AT && $now - $SPOOL_TRIED_AT < $SPOOL_RETRY_S;
    $SPOOL_TRIED_AT = $now;
    my $folder = $OPTION{spool};
    if (!mkdir($folder, oct 700) && $ERRNO != Errno::EEXIST()) {
        return spool_fails("cannot be made: $ERRNO");
    }
    sysopen my $lock, "$folder/lock", Fcntl::O_RDWR() | Fcntl::O_CREAT() | Fcntl::O_NOFOLLOW(), oct 600
        or return spool_fails("cannot be written: $ERRNO");
    flock $lock, Fcntl::LOCK_EX() | Fcntl::LOCK_NB() or return spool_fails('another process uses it');
    $SPOOL_LOCK = $lock;
    find_segments($folder);
    tell_state('spool', q{}, "spool $folder: in use again");
    return 1;
}

# Take what a collectl before us has left.
sub find_segments {
    my ($folder) = @_;
    opendir my $handle, $folder or return spool_fails("cannot be read: $ERRNO");
    my @names = sort readdir $handle;
    closedir $handle;
    unlink map { "$folder/$_" } grep {/\A[0-9]{12}[.]new\z/} @names;
    foreach my $name (@names) {
        my ($sequence, $points) = $name =~ /\A([0-9]{12})[.]([0-9]{1,9})\z/ or next;
        my $file = "$folder/$name";
        lstat $file or next;
        next if !-f _;
        push @SEGMENTS, {file => $file, bytes => -s _, points => $points, offset => 0};
        $SPOOL_BYTES += -s _;
        $SPOOL_NEXT = $sequence + 1;
    }
    return;
}

sub spool_fails {
    my ($why) = @_;
    tell_state('spool', 'failed', "spool $OPTION{spool}: $why; what cannot be sent waits in memory only");
    return 0;
}

# Write chunks into segments that are small parts of the spool; returns those for which that cannot be. After a time without a usable
# folder there is more in memory than a small spool holds.
sub save_chunks {
    my (@chunks) = @_;
    my $bytes_max = $OPTION{spool_max} / 8 < $MEMORY_MAX_BYTES ? $OPTION{spool_max} / 8 : $MEMORY_MAX_BYTES;
    while (@chunks) {
        my ($count, $bytes) = (0, 0);
        while ($count < @chunks && (!$count || $bytes + length $chunks[$count]{text} <= $bytes_max)) {
            $bytes += length $chunks[$count++]{text};
        }
        last if !save_segment(@chunks[0 .. $count - 1]);
        splice @chunks, 0, $count;
    }
    return @chunks;
}

# Write chunks into a segment of their own; false where that cannot be.
sub save_segment {
    my (@chunks) = @_;
    return 0 if !spool_is_open();
    return 0 if defined $SPOOL_TRIED_AT && $TOLD{spool} && now_s() - $SPOOL_TRIED_AT < $SPOOL_RETRY_S;    # the disk was full a moment ago
    my ($text, $points) = (join(q{}, map { $_->{text} } @chunks), 0);
    $points += $_->{points} foreach @chunks;
    return 0 if length $text > $OPTION{spool_max};
    while (@SEGMENTS && $SPOOL_BYTES + length $text > $OPTION{spool_max}) {
        lose($SEGMENTS[0]{points});
        drop_segment(shift @SEGMENTS);
    }
    my $base = sprintf '%s/%012d', $OPTION{spool}, $SPOOL_NEXT;
    if (!write_whole("$base.new", $text) || !rename "$base.new", "$base.$points") {
        my $why = $ERRNO;
        unlink "$base.new";
        $SPOOL_TRIED_AT = now_s();
        return spool_fails("cannot be written: $why");
    }
    tell_state('spool', q{}, "spool $OPTION{spool}: in use again");
    $SPOOL_NEXT++;
    $SPOOL_BYTES += length $text;
    push @SEGMENTS, {file => "$base.$points", bytes => length $text, points => $points, offset => 0};
    return 1;
}

sub write_whole {
    my ($file, $text) = @_;
    sysopen my $handle, $file, Fcntl::O_WRONLY() | Fcntl::O_CREAT() | Fcntl::O_EXCL() | Fcntl::O_NOFOLLOW(), oct 600 or return 0;
    my $done = syswrite $handle, $text;
    if (defined $done && $done < length $text) {    # the disk is full: the rest says so
        $done = syswrite $handle, $text, length($text) - $done, $done;
    }
    my $why = defined $done ? 0 : $ERRNO + 0;
    if (!close $handle) {
        $why ||= $ERRNO + 0;
    }
    $why ||= Errno::ENOSPC() if -s $file != length $text;
    $ERRNO = $why;
    return !$why;
}

# The oldest segment goes, sent or not.
sub drop_segment {
    my ($segment) = @_;
    unlink $segment->{file};
    $SPOOL_BYTES -= $segment->{bytes};
    return;
}

my $POINT = qr/[!-~]+[ ]-?[0-9][0-9.e+-]*[ ][0-9]{1,12}/;

# The next piece of the oldest segment; nothing where none is left.
sub segment_chunk {
    spool_is_open();
    while (@SEGMENTS) {
        my $segment = $SEGMENTS[0];
        my $text    = $segment->{offset} < $segment->{bytes} ? piece_of($segment) : q{};
        my $cut     = rindex($text, "\n") + 1;
        if (!$cut) {    # all of it has been sent, or somebody damaged it: then points are left
            lose_damaged($segment, $segment->{points});
            drop_segment(shift @SEGMENTS);
            next;
        }
        substr($text, $cut) = q{};
        my $points = $text =~ tr/\n//;
        $segment->{offset} += $cut;
        $segment->{points} -= $points < $segment->{points} ? $points : $segment->{points};
        my $damaged = $text =~ s/^(?!$POINT$)[^\n]*\n//mg || 0;
        lose_damaged($segment, $damaged);
        return {text => $text, points => $points - $damaged} if length $text;
    }
    return;
}

sub piece_of {
    my ($segment) = @_;
    my $text = q{};
    if (sysopen my $handle, $segment->{file}, Fcntl::O_RDONLY() | Fcntl::O_NOFOLLOW()) {
        sysseek $handle, $segment->{offset}, Fcntl::SEEK_SET();
        sysread $handle, $text, $CHUNK_BYTES;
        close $handle or return q{};
    }
    return $text;
}

# ---- the connection ----

my @ADDRESSES;          # {family, address}: all that the name has
my $ADDRESS_AT = 0;     # the one to try next
my $RESOLVED_AT;
my $RESOLVER;           # {pid, handle, text, began}: a child that asks for the name, so that a name server that hangs delays nothing
my $SOCKET;
my $IS_CONNECTING = 0;
my $PROGRESS_AT   = 0;  # when the connection last came about or took something
my $NEXT_TRY_AT   = 0;
my $TRY_S         = $TRY_S_MIN;
my @TRIES;              # when the latest were
my $WAS_CONNECTED = 0;
my $WRITTEN_BYTES = 0;  # into this connection
my $OUTQ          = 0x5411;     # TIOCOUTQ, tty_ioctl(4): bytes written that the peer has not acknowledged
my $PROOF_BYTES   = 262_144;    # a peer that hangs takes what its kernel's buffer takes, usually half of this: more shows that it reads

sub now_s {
    return Time::HiRes::clock_gettime(Time::HiRes::CLOCK_MONOTONIC());
}

sub peer {
    return 'carbon ' . (index($OPTION{name}, q{:}) < 0 ? $OPTION{name} : "[$OPTION{name}]") . ":$OPTION{port}";
}

# All addresses of the name. May wait for a name server: only at the start, before there are samples, and in a child.
sub addresses {
    my ($name, $port) = @_;
    if (my $ask = Socket->can('getaddrinfo')) {
        my ($error, @found) = $ask->($name, $port, {socktype => Socket::SOCK_STREAM()});
        return map { {family => $_->{family}, address => $_->{addr}} } @found;
    }
    my $address = Socket::inet_aton($name);    # before perl 5.14: IPv4 only
    return defined $address ? {family => Socket::AF_INET(), address => scalar Socket::sockaddr_in($port, $address)} : ();
}

# Begin to ask for the name again, in a child, or see what has come of it.
sub resolve {
    my ($now) = @_;
    if (!$RESOLVER) {
        return if defined $RESOLVED_AT && $now - $RESOLVED_AT < (@ADDRESSES ? $RESOLVE_EVERY_S : $TRY_S_MAX);
        $RESOLVED_AT = $now;
        pipe my $reader, my $writer or return;
        my $pid = fork;
        return if !defined $pid;
        if (!$pid) {
            local @SIG{qw(TERM INT ALRM USR1)} = ('DEFAULT') x 4;
            my $text = join q{}, map {"$_->{family} " . unpack('H*', $_->{address}) . "\n"} addresses(@OPTION{qw(name port)});
            syswrite $writer, "$text.\n";
            POSIX::_exit(0);    # no END block, no buffer of the parent
        }
        close $writer;
        set_nonblocking($reader);
        $RESOLVER = {pid => $pid, handle => $reader, text => q{}, began => $now};
        return;
    }
    my $got = sysread $RESOLVER->{handle}, $RESOLVER->{text}, 4096, length $RESOLVER->{text};
    my $is_over = $RESOLVER->{text} =~ /^[.]$/m;
    return if !$is_over && $now - $RESOLVER->{began} < $OPTION{timeout} && !(defined $got && !$got);
    kill 'KILL', $RESOLVER->{pid};
    waitpid $RESOLVER->{pid}, 0;
    my @found = map { {family => $_->[0], address => pack 'H*', $_->[1]} } map { [split] } $RESOLVER->{text} =~ /^([0-9]+ [0-9a-f]+)$/mg;
    @ADDRESSES = @found if @found;
    $RESOLVER  = undef;
    return;
}

sub set_nonblocking {
    my ($handle) = @_;
    my $flags = fcntl $handle, Fcntl::F_GETFL(), 0;
    return fcntl $handle, Fcntl::F_SETFL(), $flags | Fcntl::O_NONBLOCK();
}

# Tell whether there is a connection; where there is none, and it is time to, begin to make one.
sub is_connected {
    my ($now) = @_;
    resolve($now) if $RESOLVER || !@ADDRESSES;
    if (!$SOCKET) {
        return 0 if $now < $NEXT_TRY_AT;
        return failed($now, "cannot find the address of $OPTION{name}") if !@ADDRESSES;
        foreach (@ADDRESSES) {    # an address that refuses at once leaves time for the next one
            last if begin_connection($now);
        }
        return failed($now, "cannot connect: $ERRNO") if !$SOCKET;
    }
    if ($IS_CONNECTING) {
        if (!is_writable()) {
            return $now - $PROGRESS_AT < $OPTION{timeout} ? 0 : failed($now, "cannot connect: no answer for $OPTION{timeout} s");
        }
        my $errno = unpack 'i', getsockopt $SOCKET, Socket::SOL_SOCKET(), Socket::SO_ERROR();
        if ($errno) {
            $ERRNO = $errno;
            return failed($now, "cannot connect: $ERRNO");
        }
        connected($now);
    }
    # A write to a peer that has gone succeeds once and is lost: look for its end first.
    my $from = recv $SOCKET, my $answer, 1, Socket::MSG_PEEK();
    if (defined $from) {
        return failed($now, length $answer ? 'it answers with data: this is not the port for plain lines' : 'it closed the connection');
    }
    return $ERRNO == Errno::EAGAIN() || $ERRNO == Errno::EINTR() ? 1 : broken($now);
}

sub begin_connection {
    my ($now) = @_;
    my $to = $ADDRESSES[$ADDRESS_AT++ % @ADDRESSES];
    socket my $socket, $to->{family}, Socket::SOCK_STREAM(), 0 or return 0;
    set_nonblocking($socket);
    my $tcp = Socket::IPPROTO_TCP();
    setsockopt $socket, Socket::SOL_SOCKET(), Socket::SO_SNDBUF(),    pack 'i', $SEND_BUFFER_BYTES;
    setsockopt $socket, Socket::SOL_SOCKET(), Socket::SO_KEEPALIVE(), pack 'i', 1;
    setsockopt $socket, $tcp, $TCP{keepalive_idle},     pack 'i', 10;
    setsockopt $socket, $tcp, $TCP{keepalive_interval}, pack 'i', 5;
    setsockopt $socket, $tcp, $TCP{keepalive_probes},   pack 'i', 3;
    setsockopt $socket, $tcp, $TCP{user_timeout},       pack 'I', int 1000 * $OPTION{timeout};
    return 0 if !connect($socket, $to->{address}) && $ERRNO != Errno::EINPROGRESS();
    ($SOCKET, $IS_CONNECTING, $PROGRESS_AT) = ($socket, 1, $now);
    return 1;
}

sub is_writable {
    my ($within_s) = @_;
    vec(my $bits = q{}, fileno $SOCKET, 1) = 1;
    return select(undef, $bits, undef, $within_s || 0) > 0;
}

sub connected {
    my ($now) = @_;
    ($IS_CONNECTING, $PROGRESS_AT, $WRITTEN_BYTES) = (0, $now, 0);
    return;
}

# Tell that there is a Carbon again once it has taken something: a connection alone comes about with one that hangs too.
sub tell_taken {
    return if $WAS_CONNECTED && !$TOLD{carbon};
    my $answer = pack 'i', 0;
    my $left   = ioctl($SOCKET, $OUTQ, $answer) ? unpack 'i', $answer : 0;
    my $taken  = $WRITTEN_BYTES - $left;
    return if $taken <= (($TOLD{carbon} || q{}) eq 'hangs' ? $PROOF_BYTES : 0);
    my ($waiting) = counts();
    my $words = peer() . ": connected; points waiting: $waiting, dropped so far: $DROPPED";
    main::logmsg('I', "$FILE: $words") if !$WAS_CONNECTED;    # nobody needs to be told that it works, but the log has when it began
    tell_state('carbon', q{}, $words);
    tell_state('dropping', q{}, q{});
    ($WAS_CONNECTED, $TRY_S) = (1, $TRY_S_MIN);
    return;
}

# There is no connection, or no longer; always false.
sub failed {
    my ($now, $why, $state) = @_;
    $SOCKET        = undef;
    $IS_CONNECTING = 0;
    put_back($now);
    $NEXT_TRY_AT = $now + pause_s($now);
    resolve($now) if !$RESOLVER && !is_numeric();
    # while it hangs, no try is told
    tell_state('carbon', $state || 'lost', peer() . ": $why; points are kept and it is tried again") if ($TOLD{carbon} || q{}) ne 'hangs';
    return 0;
}

# The connection broke; where the kernel gave it up (user_timeout), because the peer took nothing.
sub broken {
    my ($now) = @_;
    return hangs($now) if $ERRNO == Errno::ETIMEDOUT();
    return failed($now, "connection lost: $ERRNO");
}

sub hangs {
    my ($now) = @_;
    return failed($now, "it takes nothing for $OPTION{timeout} s: it hangs", 'hangs');
}

sub is_numeric {
    return $OPTION{name} =~ /\A[0-9.]+\z/ || index($OPTION{name}, q{:}) >= 0;
}

# How long to wait before the next try: at random between a second and three times the wait before, so that thousands of nodes do not come
# back at once (M. Brooker, "Exponential Backoff and Jitter", 2015), and never more than six tries a minute.
sub pause_s {
    my ($now) = @_;
    push @TRIES, $now;
    shift @TRIES while @TRIES > $TRIES_A_MINUTE;
    $TRY_S = $TRY_S_MIN + rand(3 * $TRY_S - $TRY_S_MIN);
    $TRY_S = $TRY_S_MAX if $TRY_S > $TRY_S_MAX;
    return 0.2 if $OPTION{playback};    # somebody waits for it
    my $rest_s = @TRIES < $TRIES_A_MINUTE ? 0 : $TRIES[0] + 60 - $now;
    return $rest_s > $TRY_S ? $rest_s : $TRY_S;
}

# Write what the connection takes without waiting: the newest chunk, then of the backlog a bounded piece.
sub pump {
    my $now = now_s();
    return if !is_connected($now);
    tell_taken();
    my ($bytes, $until) = (0, $now + $BACKLOG_S);
    while ($FLIGHT || next_chunk()) {
        my $sent = send $SOCKET, $OFFSET ? substr $FLIGHT->{text}, $OFFSET : $FLIGHT->{text}, $NO_SIGNAL;
        if (!defined $sent) {
            next if $ERRNO == Errno::EINTR();
            return broken($now) if $ERRNO != Errno::EAGAIN();
            hangs($now)         if $now - $PROGRESS_AT >= $OPTION{timeout};
            return;
        }
        $PROGRESS_AT = $now;
        $WRITTEN_BYTES += $sent;
        $OFFSET += $sent;
        $bytes  += $sent;
        written($now) if $OFFSET == length $FLIGHT->{text};
        last if !$IS_FRESH && ($bytes >= $BACKLOG_BYTES || now_s() >= $until);
    }
    $PROGRESS_AT = $now if !$FLIGHT;
    tell_taken();
    return;
}

# ---- waiting: when playing back and at the end, never between samples ----

sub is_idle {
    return !$FLIGHT && !@WAITING && !@AGAIN && !@SEGMENTS;
}

# Write until no more than `$bytes_max` wait, at most until `$until`; where `$is_patient` as long as there is progress.
sub drain {
    my ($bytes_max, $until, $is_patient) = @_;
    my $progress = $SENT + $RESENT;
    while ($bytes_max ? $WAITING_BYTES > $bytes_max : !is_idle()) {
        pump();
        my $now = now_s();
        if ($is_patient && $SENT + $RESENT != $progress) {
            ($progress, $until) = ($SENT + $RESENT, $now + $OPTION{timeout});
        }
        return if $now >= $until || (!$SOCKET && !$is_patient);
        if   ($SOCKET) { is_writable(0.05) if $FLIGHT || $IS_CONNECTING }
        else           { Time::HiRes::sleep(0.05) }
    }
    return;
}

my $HAS_GIVEN_UP = 0;

# When playing back there is no next sample that must not wait: the file is read as fast as Carbon takes it.
sub keep_pace {
    drain(4 * $CHUNK_BYTES, now_s() + $OPTION{timeout}, 1) if !$HAS_GIVEN_UP;
    $HAS_GIVEN_UP = 1 if $WAITING_BYTES > 4 * $CHUNK_BYTES;
    return;
}

# Deliver what can be delivered, keep the rest in the spool.
sub finish {
    $CHILD_ERROR = 1 if $OPTION{off} && $OPTION{playback};
    return           if $OPTION{off};
    send_second();
    return if $OPTION{dry};
    $NEXT_TRY_AT = 0;
    my $until = now_s() + ($OPTION{playback} ? $OPTION{timeout} : $END_S);
    drain(0, $until, $OPTION{playback}) if !$HAS_GIVEN_UP;
    my $is_confirmed = $SOCKET && !$IS_CONNECTING && is_idle() && is_read_to_the_end($until);
    save_unsure(@AGAIN, @RECENT) if !$is_confirmed;
    my @left   = save_chunks($FLIGHT && !$FLIGHT->{written} ? $FLIGHT : (), @WAITING);
    my $points = $DROPPED;
    $points += $_->{points} foreach @left;
    return if !$points;
    tell_user(peer() . ": ends; points not delivered: $points");
    $CHILD_ERROR = 1 if $OPTION{playback};
    return;
}

# What was written lately to a peer that does not say that it read it goes into the spool too, where nothing must make room for it.
sub save_unsure {
    my (@chunks) = @_;
    my $bytes = 0;
    $bytes += length $_->{text} foreach @chunks;
    save_segment(@chunks) if $bytes && defined $OPTION{spool} && $SPOOL_BYTES + $bytes <= $OPTION{spool_max} / 2;
    return;
}

# Say that nothing more comes, and see whether the peer reads all and closes its end.
sub is_read_to_the_end {
    my ($until) = @_;
    shutdown $SOCKET, 1;
    while ((my $left_s = $until - now_s()) > 0) {
        vec(my $bits = q{}, fileno $SOCKET, 1) = 1;
        next if select($bits, undef, undef, $left_s) <= 0;
        my $from = recv $SOCKET, my $answer, 4096, 0;
        return 1 if defined $from && !length $answer;
        return 0 if !defined $from && $ERRNO != Errno::EINTR() && $ERRNO != Errno::EAGAIN();
    }
    return 0;
}

# ---- collectl's callbacks ----

my $OWNER = 0;    # the process that takes samples: a daemon's parent must not touch what the daemon has

sub main::lnetcarbonInit {
    my (@words) = @_;
    if (!%OPTION) {    # playing back: called again for each file
        if (!eval { set_options(@words); 1 }) {
            my ($why) = split /\n/, $EVAL_ERROR;
            tell_user("$why; $FILE sends nothing");
            %OPTION = (off => 1, playback => $main::playback ne q{});
        }
        elsif (!$OPTION{dry}) {
            @ADDRESSES = addresses(@OPTION{qw(name port)});
            spool_is_open();    # what is wrong with it is told now, not when it is needed
        }
    }
    return if $OPTION{off};
    my $host = defined $OPTION{host} ? $OPTION{host} : $main::Host;
    send_second() if $OWNER;
    $BEFORE = $SECOND = undef;
    @LATEST = ();
    begin_names($host);
    return;
}

sub main::lnetcarbon {
    $OWNER = $PID;
    return if $OPTION{off};
    my $time = $main::lastSecs[$main::rawPFlag];
    $time -= $main::timeAdjust if $OPTION{playback} && !defined $main::offsetTime;    # collectl moves stamps of other time zones
    eval {
        sample($time);
        if ($OPTION{playback}) { keep_pace() if !$OPTION{dry} }
        else                   { pump()      if !$OPTION{dry} }
        1;
    } or do {
        my ($why) = split /\n/, $EVAL_ERROR;
        tell_state('sample', $why, "a sample was not sent: $why");
    };
    return;
}

END {
    if ($OWNER == $PID) {
        my $status = $CHILD_ERROR;
        Time::HiRes::alarm(0);    # collectl's timer: there is no next sample, and perl's end has no handler for it
        finish();
        $CHILD_ERROR ||= $status;
    }
}

1;
