# lustre_oss.ph: service statistics of Lustre servers for collectl: requests, waiting, queue depth and handling times of ost_io, ost, mdt
# and mgs, pings beside reads and writes, and the counters of targets and imports (obdfilter, osc, mdc).
#
#     collectl --import /usr/share/collectl/lustre_oss.ph,sd                            on the terminal
#     collectl --import ./lustre_oss.ph,path=DIR,services=ost_io+ost -f /var/log/collectl   two services into raw files
#
# README.md beside the sources explains options and columns. Nothing is ever written to Lustre's files.
#
# Rates and means are those of the interval: differences against the sample before, over the difference of the files' own snapshot_time
# (without one, of the times at which they were read). An interval in which the counters were reset, or before which there is no sample, has
# no rate: `-` on the terminal, `NaN` in plot files, no value for lexpr. A mean of no events is likewise none. What goes to Carbon are the
# counters themselves, as the Python agent sends them; Carbon's own functions make rates of them.

package Lnetstat::Oss;
use strict;
use warnings;
use English qw(-no_match_vars);
use Errno ();
use Fcntl ();
use Time::HiRes ();

# graphite.ph stamps with time(), which reads a clock that may be a tick late: on a whole second that is the second before. What is loaded
# after this module gets the exact one.
BEGIN {
    if (!defined &CORE::GLOBAL::time) {
        *CORE::GLOBAL::time = sub { return int Time::HiRes::time() };
    }
}

my $FILE    = 'lustre_oss.ph';
my $VERSION = '0.5';
my $KEY     = 'lsv';

# --- begin generated: metrics (make docs) ---
# The metrics of lnetstat/reduce/metrics.py: family => leaf names in order.
my %METRICS = (
    'counters.INSTANCE.COUNTER' => [qw(samples sum)],
    'self' => [qw(duration_ms late errors series spooled sent resent lost rss_bytes)],
);
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

my $OPTIONS = 's, d, sd, path=DIR, services=GLOB+GLOB..., also=GLOB+GLOB...';
my %option  = (show => q{}, path => q{}, services => [q{*}], also => []);

sub main::lustre_ossInit {
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

# Dies of what is mistyped.
sub set_options {
    my (@words) = @_;
    foreach my $word (@words) {
        my ($name, $value) = split /=/, $word, 2;
        $name = q{} if !defined $name;
        if    ($word =~ /^(?:s|d|sd|ds)$/)       { $option{show} = $word }
        elsif (!defined $value || $value eq q{}) { die "option '$word': expected one of $OPTIONS\n" }
        elsif ($name eq 'path')                  { $option{path} = $value }
        elsif ($name =~ /^(?:services|also)$/)   { $option{$name} = globs_of($word, $value) }
        else                                     { die "option '$word': expected one of $OPTIONS\n" }
    }
    $option{show} ||= 's';
    my $reads = !defined $main::playback || $main::playback eq q{};
    die "path=$option{path}: not a folder: a tree with proc/ and sys/ was expected\n"
        if $reads && $option{path} ne q{} && !-d $option{path};
    return;
}

sub globs_of {
    my ($word, $value) = @_;
    my @globs = split /[+]/, $value, -1;
    my $usual = qr/\A[\w.*?@-][\w.*?@\/-]*\z/;
    die "option '$word': expected names or patterns with * and ?, joined by +\n" if !@globs || grep { !/$usual/ || /[.][.]/ } @globs;
    return \@globs;
}

sub main::lustre_ossUpdateHeader {
    my ($header) = @_;
    my ($services, $also) = map { join q{+}, @{$option{$_}} } qw(services also);
    ${$header} .= "# lnetstat: $FILE $VERSION path=" . ($option{path} eq q{} ? q{/} : $option{path})
        . " services=$services also=" . ($also eq q{} ? q{-} : $also) . " units: requests, microseconds\n";
    return;
}

# ---- Reading a sample: the files that the Python agent reads (lnetstat/sources/node.py); of two folders the first wins per name ----

my @FOLDERS = qw(proc/fs/lustre sys/kernel/debug/lustre);
my @STATS   = qw(ost/OSS/*/stats mds/MDS/*/stats mdt/MDS/*/stats mgs/MGS/*/stats obdfilter/*/stats osc/*/stats mdc/*/stats);
my $LOOK_EVERY_S = 60;     # what appears is noticed within a minute, what vanishes at once
my $FORGET_S     = 600;    # so long a file that vanished is recorded as absent
my ($looked_s, @targets, %absent_since_s, %seen) = (0);

sub main::lustre_ossGetData {
    my $began = Time::HiRes::time();
    if (abs($began - $looked_s) >= $LOOK_EVERY_S) {
        $looked_s = $began;
        look($began);
    }
    foreach my $target (@targets) {
        my ($name, $path) = @{$target};
        my $read = read_file($path);
        $looked_s = 0 if $read->{state} eq 'absent' && $seen{$name};    # its successor may have another path
        tell_state($name, $path, $read);
        record_read($KEY, $name, $read);
    }
    main::record(2, sprintf "$KEY=took %.3f\n", 1e3 * (Time::HiRes::time() - $began));
    return;
}

# Find the files that are there now.
sub look {
    my ($now) = @_;
    my (@found, %found);
    foreach my $folder (@FOLDERS) {
        my $base = ($option{path} eq q{} ? q{} : $option{path}) . "/$folder";
        foreach my $pattern (@STATS, @{$option{also}}) {
            my $standard = grep { $_ eq $pattern } @STATS;
            foreach my $file (files_below($base, split m{/}, $pattern)) {
                (my $name = $file) =~ tr{/}{.};
                next if $found{$name} || ($standard && !is_wanted(instance_of($name)));
                $found{$name} = 1;
                push @found, [$name, "$base/$file"];
            }
        }
    }
    delete @absent_since_s{keys %found};
    foreach my $target (grep { !$found{$_->[0]} } @targets) {
        my $since_s = $absent_since_s{$target->[0]} ||= $now;
        push @found, $target if abs($now - $since_s) < $FORGET_S;
    }
    @targets = @found;
    my $where = $option{path} eq q{} ? q{} : " under $option{path}";
    my $which = "@{$option{services}}" eq q{*} ? q{} : ' that services= names';
    my $nothing = "no statistics of Lustre's services$which$where: is Lustre running here, is debugfs mounted, are you root? going on";
    tell_change(q{*}, @found ? q{} : $nothing, "statistics of Lustre's services are there");
    return;
}

# The files below a folder whose path has these parts, each with * and ? as in a shell, in order.
sub files_below {
    my ($folder, $part, @rest) = @_;
    my @names = $part;
    if ($part =~ /[*?]/) {
        my $wanted = regex_of($part);
        opendir my $listing, $folder or return;
        @names = sort grep { /$wanted/ && !/^[.]/ } readdir $listing;
        closedir $listing;
    }
    return grep { -e "$folder/$_" } @names if !@rest;
    my @found;
    foreach my $name (@names) { push @found, map { $name . q{/} . $_ } files_below("$folder/$name", @rest) }
    return @found;
}

sub regex_of {
    my ($glob) = @_;
    my $regex = quotemeta $glob;
    $regex =~ s/\\[*]/.*/g;
    $regex =~ s/\\[?]/./g;
    return qr/\A$regex\z/s;
}

sub is_wanted {
    my ($instance) = @_;
    foreach my $glob (@{$option{services}}) {
        my $wanted = regex_of($glob);
        return 1 if $instance =~ $wanted;
    }
    return 0;
}

# Tell whether what was recorded of a file is to be shown: services= and also= choose when playing back, too. With all services, all that
# was recorded.
my %is_shown;

sub is_shown {
    my ($name) = @_;
    return 1 if "@{$option{services}}" eq q{*};
    if (!defined $is_shown{$name}) {
        my @usual = grep { $name =~ dotted($_, '[^.]*') } @STATS;
        my @added = grep { $name =~ dotted($_, '.*') } @{$option{also}};
        $is_shown{$name} = @added || (@usual && is_wanted(instance_of($name))) ? 1 : 0;
    }
    return $is_shown{$name};
}

# What matches the name of a snapshot whose file the pattern is for; `$any`: what a * may be.
sub dotted {
    my ($pattern, $any) = @_;
    $pattern =~ tr{/}{.};
    my $regex = quotemeta $pattern;
    $regex =~ s/\\[*]/$any/g;
    $regex =~ s/\\[?]/./g;
    return qr/\A$regex\z/s;
}

# Say once per file and cause why it cannot be read, and once that it can be again.
sub tell_state {
    my ($name, $path, $read) = @_;
    my $why = q{};
    if ($read->{state} eq 'forbidden' || $read->{state} eq 'failed') {
        local $ERRNO = $read->{errno};
        $why = "$path: $read->{state}: $ERRNO";
        $why .= ' (run as root)' if $read->{state} eq 'forbidden';
    }
    elsif ($read->{state} eq 'absent') { $why = "$path: gone" }
    tell_change($name, $why, "$path: readable again");
    $seen{$name} = $read->{state} ne 'absent';
    return;
}

# ---- One stats file: as lnetstat/tables/counters.py reads it, with the same lines counted as errors ----

# What tells two files apart: ost.OSS.ost_io.stats -> ost_io, obdfilter.FS-OST0000.stats -> obdfilter.FS-OST0000.
sub instance_of {
    my ($name) = @_;
    $name =~ s/[.]stats\z//;
    foreach my $prefix ('ost.OSS.', 'mds.MDS.', 'mgs.MGS.', 'ldlm.services.') { $name =~ s/\A\Q$prefix\E// }
    return $name;
}

my %SYNONYMS = (usecs => 'usec', secs => 'sec');
my $VALUES   = qr/(?: -?[0-9]{1,20}){2} (-?[0-9]{1,18})(?: -?[0-9]{1,20})?/;    # min max SUM sumsq
my $REGULAR  = qr{\A([!-~]{1,80}) {1,80}([0-9]{1,18}) samples \[([A-Za-z/%]{1,16})\](?:$VALUES)?\z};

# {counters => {NAME => {samples, sum (none for a bare count), unit}}, names => [in the file's order], snapshot_ns, start_ns, problems => N,
# problem => the first one in words}; no `counters` where nothing in the text is usable.
sub parse_stats {
    my ($text) = @_;
    $text =~ s/\A\xEF\xBB\xBF//;
    my %stats = (problems => 0, names => [], counters => {});
    my @lines = split /\n/, $text, -1;
    foreach my $number (1 .. @lines) {
        my $line = $lines[$number - 1];
        if ($number < @lines && $line =~ $REGULAR && !$stats{counters}{$1}) {    # nearly all are; the rest is taken apart word by word
            $stats{counters}{$1} = {samples => 0 + $2, sum => defined $4 ? 0 + $4 : undef, unit => $SYNONYMS{$3} || $3};
            push @{$stats{names}}, $1;
            next;
        }
        my @words = length $line > 4096 ? q{} : split q{ }, $line;
        next if !@words;
        my $cut = $number == @lines;    # without a line end the last number may be cut
        my $is_time = $words[0] =~ /\A(?:snapshot|start|elapsed)_time\z/ && !grep { $_ eq 'samples' } @words;
        my $problem = $is_time ? take_time(\%stats, $cut, @words) : take_counter(\%stats, @words);
        $problem = 'a line end: the row is kept, but its last number may be cut' if $problem eq q{} && $cut && !$is_time;
        add_problem(\%stats, $number, $line, $problem) if $problem ne q{};
    }
    if (!defined $stats{snapshot_ns}) {
        if (!@{$stats{names}}) { @stats{qw(counters problems problem)} = (undef, 0) }
        add_problem(\%stats, 1, defined $lines[0] ? $lines[0] : q{}, 'snapshot_time first');
    }
    return \%stats;
}

sub add_problem {
    my ($stats, $number, $line, $expected) = @_;
    my $shown = length $line > 60 ? substr($line, 0, 60) . '...' : $line;
    $shown =~ s/[^ -~]/?/g;
    $stats->{problem} = "line $number: '$shown': expected $expected" if !$stats->{problems}++;
    return;
}

# A counter: NAME COUNT samples [UNIT], then nothing, or min max sum, or min max sum sumsq. Returns what was expected, or nothing.
sub take_counter {
    my ($stats, @words) = @_;
    my $expected = 'NAME COUNT samples [UNIT] and none, three or four numbers';
    my ($at) = grep { $words[$_] eq 'samples' } 2 .. $#words;
    return $expected if !defined $at || $at == $#words || $words[$at + 1] !~ m{\A\[([A-Za-z/%]{1,16})\]\z};
    my $unit = $SYNONYMS{$1} || $1;
    my @values = @words[$at + 2 .. $#words];
    my @name   = @words[0 .. $at - 2];
    return $expected if @values == 1 || @values == 2 || $words[$at - 1] !~ /\A[0-9]{1,20}\z/ || grep { !/\A-?[0-9]{1,20}\z/ } @values;
    return $expected if @name > 4 || grep { !/\A[!-~]{1,80}\z/ } @name;
    my ($name, $counters, $second) = ("@name", $stats->{counters}, 1);
    while ($counters->{$name}) { $name = "@name\_" . ++$second }    # Lustre 2.10 prints `statfs` twice
    my ($samples, $sum) = map { !defined $_ || length($_) > 18 ? $_ : 0 + $_ } $words[$at - 1], $values[2];    # longer: exact as text
    $counters->{$name} = {samples => $samples, sum => $sum, unit => $unit};
    push @{$stats->{names}}, $name;
    return q{};
}

# A time: NAME SECONDS.FRACTION UNIT. Up to Lustre 2.9 the fraction counts microseconds and is NOT padded with zeros: 1420750934.57342
# secs.usecs is .057342 s; later it counts nanoseconds, in a few files padded with blanks. Without a unit the number of digits tells.
sub take_time {
    my ($stats, $cut, $name, @words) = @_;
    my $unit = @words && $words[-1] =~ /\Asecs/ ? pop @words : q{};
    my $known = $unit eq 'secs.usecs' ? 6 : $unit eq 'secs.nsecs' ? 9 : 0;
    return "$name SECONDS.FRACTION secs.nsecs: the line is cut" if $cut && !$known;
    my ($seconds, $fraction) = "@words" =~ /\A([0-9]{1,12})(?:[.] *([0-9]{1,9}))?\z/;
    $fraction = 0 if !defined $fraction;
    my $digits = $known || (length $fraction > 6 ? 9 : 6);
    return "$name SECONDS.FRACTION secs.usecs or secs.nsecs"
        if !defined $seconds || length $fraction > $digits || !($known || $unit eq q{} || $unit eq 'secs');
    (my $fact = $name) =~ s/_time/_ns/;
    $stats->{$fact} = $seconds * 1_000_000_000 + $fraction * ($digits == 6 ? 1000 : 1);
    return q{};
}

# ---- What came of a sample ----

# %now: instance => {group, stats, delta => {NAME => [events, sum]}, span_s}; without `stats` where it could not be read, without `delta`
# where there is no rate. %last: what the next sample is compared with. Groups: ost and mds are servers' services (MGS among mds).
my (%now, %last, %told_text, $took_ms);
my $errors = 0;
my $host   = q{};
my $NONE;    # no value: not zero

# Another host's file in playback has nothing to do with the one before.
sub main::lustre_ossGetHeader {
    my ($header) = @_;
    my ($found) = ${$header} =~ /Host:\s+(\S+)/;
    return if !defined $found || $found eq $host;
    $host = $found;
    (%now, %last) = ();
    return;
}

sub main::lustre_ossInitInterval {
    %now     = ();
    $took_ms = undef;
    return;
}

sub main::lustre_ossAnalyze {
    my ($type, $data) = @_;
    if ($type eq "$KEY=took") {
        ($took_ms) = ${$data} =~ /^([\d.]+)/;
        return;
    }
    my ($name, $read) = recorded($KEY, $type, ${$data}) or return;
    return if !is_shown($name);
    my $instance = instance_of($name);
    my $group = $name =~ /\Aost[.]OSS[.]/ ? 'ost' : $name =~ /\A(?:mds[.]MDS|mdt[.]MDS|mgs[.]MGS)[.]/ ? 'mds' : q{};
    if ($read->{state} eq 'absent') {
        delete $last{$instance};
        return;
    }
    my $entry = $now{$instance} = {group => $group};
    if ($read->{state} eq 'forbidden' || $read->{state} eq 'failed') {
        $errors++;
        return;
    }
    my $stats = parse_stats($read->{text});
    $errors += $stats->{problems};
    tell_text($name, $stats->{problem});
    return if !$stats->{counters};
    $stats->{time} = $read->{time};
    $entry->{stats} = $stats;
    compare($entry, $last{$instance}) if $last{$instance};
    $last{$instance} = $stats;
    return;
}

# Say once that lines of a file are not understood, and once that all are again.
sub tell_text {
    my ($name, $problem) = @_;
    my $has = defined $problem ? 1 : 0;
    return if $has == ($told_text{$name} || 0);
    $told_text{$name} = $has;
    tell_user($has ? "$name: $problem" : "$name: all lines are understood again");
    return;
}

# Fill in what happened since the sample before; nothing where the counters began anew: another start_time, or a counter that fell or is
# gone (only those that were used since the reset are printed; one that is new was 0).
sub compare {
    my ($entry, $before) = @_;
    my $stats = $entry->{stats};
    return if defined $stats->{start_ns} && defined $before->{start_ns} && $stats->{start_ns} != $before->{start_ns};
    foreach my $name (@{$before->{names}}) {
        my ($new, $old) = ($stats->{counters}{$name}, $before->{counters}{$name});
        return if !$new || $new->{samples} < $old->{samples} || ($new->{sum} || 0) < ($old->{sum} || 0);
    }
    my $span_s = 0;
    $span_s = 1e-9 * ($stats->{snapshot_ns} - $before->{snapshot_ns}) if defined $stats->{snapshot_ns} && defined $before->{snapshot_ns};
    $span_s = $stats->{time} - $before->{time} if $span_s <= 0;
    return if $span_s <= 0;
    $entry->{span_s} = defined $main::options && $main::options =~ /n/ ? 1 : $span_s;    # -on: numbers of the interval, not of a second
    foreach my $name (@{$stats->{names}}) {
        my ($new, $old) = ($stats->{counters}{$name}, $before->{counters}{$name} || {samples => 0, sum => 0});
        $entry->{delta}{$name} = [$new->{samples} - $old->{samples}, ($new->{sum} || 0) - ($old->{sum} || 0)];
    }
    $entry->{delta} ||= {};
    return;
}

# ---- Numbers of one interval. `$entries`: of one service or of several together; one of them without a rate leaves the whole without ----

# Events per second.
sub rate_of {
    my ($entries, $counter) = @_;
    return $NONE if !@{$entries} || grep { !$_->{delta} } @{$entries};
    my $rate = 0;
    foreach my $entry (@{$entries}) { $rate += $entry->{delta}{$counter}[0] / $entry->{span_s} if $entry->{delta}{$counter} }
    return $rate;
}

# The mean of the events of these counters; none where nothing happened.
sub mean_of {
    my ($entries, @counters) = @_;
    return $NONE if grep { !$_->{delta} } @{$entries};
    my ($events, $sum) = (0, 0);
    foreach my $delta (map { my $all = $_->{delta}; grep { $_ } map { $all->{$_} } @counters } @{$entries}) {
        $events += $delta->[0];
        $sum    += $delta->[1];
    }
    return $events > 0 ? $sum / $events : $NONE;
}

# The mean time from the start of handling a request to its end: of all counters of requests that are times.
sub handling_of {
    my ($entries) = @_;
    my %times;
    foreach my $stats (grep { $_ } map { $_->{stats} } @{$entries}) {
        foreach my $name (grep { !/\Areq/ } @{$stats->{names}}) { $times{$name} = 1 if $stats->{counters}{$name}{unit} eq 'usec' }
    }
    return mean_of($entries, sort keys %times);
}

# What is said of services: heading, decimals, its number.
my @SERVICE = (
    ['Reqs', 0, sub { return rate_of($_[0], 'req_waittime') }],          # requests begun per second
    ['Wait', 0, sub { return mean_of($_[0], 'req_waittime') }],          # us from arrival to the start of handling
    ['Queue', 1, sub { return mean_of($_[0], 'req_qdepth') }],           # requests that waited when one was begun
    ['Active', 1, sub { return mean_of($_[0], 'req_active') }],          # threads busy when one was begun
    ['Timeout', 1, sub { return mean_of($_[0], 'req_timeout') }],        # s that the service estimates for one
    ['Handle', 0, sub { return handling_of($_[0]) }],                    # us of handling
);

# The entries of a group, or the one of an instance.
sub group_of {
    my ($all, $group) = @_;
    return [map { $all->{$_} } grep { $all->{$_}{group} eq $group } sort keys %{$all}];
}

sub one_of {
    my ($all, $instance) = @_;
    return $all->{$instance} ? [$all->{$instance}] : [];
}

# Instances that have a line of their own: services, and imports that count the same of their requests.
sub services_of {
    my ($all) = @_;
    return grep { $all->{$_}{group} ne q{} || ($all->{$_}{stats} && $all->{$_}{stats}{counters}{req_waittime}) } sort keys %{$all};
}

# A number for people: `-` where there is none.
sub shown {
    my ($value, $width, $decimals) = @_;
    my $text = !defined $value ? q{-} : $decimals && $value < 100 ? sprintf '%.*f', $decimals, $value : main::cvt($value, $width - 1);
    return sprintf '%*s', $width, $text;
}

# A number for programs: at most three decimals.
sub plain {
    my ($value) = @_;
    my $text = sprintf '%.3f', $value;
    $text =~ s/[.]?0+\z//;
    return $text;
}

# ---- Brief: what the figures of dead time show: reads and writes stop, pings come ----

my %BRIEF = (    # title, then heading, width, decimals, number
    ost => ['Lustre OSS',
        ['Reads',  6, 0, sub { return rate_of(one_of($_[0], 'ost_io'), 'ost_read') }],
        ['Writes', 7, 0, sub { return rate_of(one_of($_[0], 'ost_io'), 'ost_write') }],
        ['Pings',  6, 0, sub { return rate_of(one_of($_[0], 'ost'), 'obd_ping') }],
        ['IoWait', 7, 0, sub { return mean_of(one_of($_[0], 'ost_io'), 'req_waittime') }],
        ['IoQue',  6, 1, sub { return mean_of(one_of($_[0], 'ost_io'), 'req_qdepth') }],
        ['OstWait', 8, 0, sub { return mean_of(one_of($_[0], 'ost'), 'req_waittime') }],
        ['OstQue', 7, 1, sub { return mean_of(one_of($_[0], 'ost'), 'req_qdepth') }],
    ],
    mds => ['Lustre MDS',
        ['Reqs',  6, 0, sub { return rate_of(group_of($_[0], 'mds'), 'req_waittime') }],
        ['Pings', 6, 0, sub { return rate_of(group_of($_[0], 'mds'), 'obd_ping') }],
        ['Wait',  7, 0, sub { return mean_of(group_of($_[0], 'mds'), 'req_waittime') }],
        ['Queue', 6, 1, sub { return mean_of(group_of($_[0], 'mds'), 'req_qdepth') }],
    ],
);
my @brief = ('ost');    # the sections shown, as the header in force has them
my %total;              # instance => {group, delta, span_s => 1} since the totals were reset

sub main::lustre_ossPrintBrief {
    my ($type, $line) = @_;
    if ($type == 1) {
        my @groups = grep { @{group_of(\%now, $_)} } qw(ost mds);
        @brief = @groups ? @groups : ('ost');
        ${$line} .= join q{}, map { banner(@{$BRIEF{$_}}) } @brief;
    }
    elsif ($type == 2) { ${$line} .= sprintf '%*s', $_->[1], $_->[0] foreach brief_columns() }
    elsif ($type == 3) { ${$line} .= brief_line(\%now) }
    elsif ($type == 4) { %total = () }
    elsif ($type == 5) { add_to_total($_) foreach keys %now }
    elsif ($type == 6) { print brief_line(\%total) }
    return;
}

sub brief_columns { return map { my (undef, @columns) = @{$BRIEF{$_}}; @columns } @brief }

sub brief_line {
    my ($all) = @_;
    return join q{}, map { my $value = $_->[3]->($all); shown($value, @{$_}[1, 2]) } brief_columns();
}

sub banner {
    my ($title, @columns) = @_;
    my $width = -2 - length $title;
    $width += $_->[1] foreach @columns;
    my $left = int $width / 2;
    return '<' . q{-} x $left . $title . q{-} x ($width - $left) . '>';
}

sub add_to_total {
    my ($instance) = @_;
    my $entry = $now{$instance};
    return if !$entry->{delta};
    my $sum = $total{$instance} ||= {group => $entry->{group}, delta => {}, span_s => 1};
    foreach my $name (keys %{$entry->{delta}}) {
        $sum->{delta}{$name}[$_] += $entry->{delta}{$name}[$_] foreach 0, 1;
    }
    return;
}

# ---- Verbose ----

sub main::lustre_ossPrintVerbose {
    my ($with_header, $home, $line) = @_;
    ${$line} = q{};    # what was printed last is still in it
    foreach my $part (($option{show} =~ /s/ ? (\&services_part, \&requests_part) : ()), $option{show} =~ /d/ ? \&detail_part : ()) {
        my ($title, $columns, @rows) = $part->();
        next if !@rows && !$main::showColFlag;
        ${$line} .= ($home ? q{} : "\n") . "# $title\n#$main::miniFiller$columns\n" if $with_header;
        return if $main::showColFlag;
        ${$line} .= "$main::datetime$_\n" foreach @rows;
    }
    return;
}

# One line for each service.
sub services_part {
    my @instances = services_of(\%now);
    my $width = widest(7, @instances);
    my $columns = sprintf ' %-*s', $width, 'Service';
    $columns .= sprintf '%9s', $_->[0] foreach @SERVICE;
    my @rows;
    foreach my $instance (@instances) {
        my $row = sprintf ' %-*s', $width, $instance;
        foreach my $column (@SERVICE) {
            my $value = $column->[2]->([$now{$instance}]);
            $row .= shown($value, 9, $column->[1]);
        }
        push @rows, $row;
    }
    return ("LUSTRE SERVICES (requests $main::rate; wait and handling in us, time-out in s)", $columns, @rows);
}

# Pings beside reads and writes: clients' OSCs ping `ost`, while ost_io has the reads and writes; MDCs and MGCs ping MDS and MGS.
sub requests_part {
    my @pinged = (@{one_of(\%now, 'ost')}, @{group_of(\%now, 'mds')});
    my ($columns, $row, $is_server) = (q{}, q{}, 0);
    foreach my $request (['Read', one_of(\%now, 'ost_io'), 'ost_read'], ['Write', one_of(\%now, 'ost_io'), 'ost_write'],
        ['Ping', \@pinged, 'obd_ping'])
    {
        my ($heading, $entries, $counter) = @{$request};
        $columns .= sprintf '%9s%9s', "${heading}s", "${heading}Us";
        $row     .= shown(rate_of($entries, $counter), 9, 0) . shown(mean_of($entries, $counter), 9, 0);
        $is_server ||= @{$entries};
    }
    return ("LUSTRE REQUESTS ($main::rate, us each)", $columns, $is_server ? $row : ());
}

# One line for each counter.
sub detail_part {
    my @instances = sort keys %now;
    my @names     = map { $_->{stats} ? @{$_->{stats}{names}} : () } values %now;
    my ($wide, $name_wide) = (widest(7, @instances), widest(7, @names));
    my @rows;
    foreach my $instance (@instances) {
        my $entry = $now{$instance};
        foreach my $name ($entry->{stats} ? @{$entry->{stats}{names}} : ()) {
            my ($rate, $mean) = (scalar rate_of([$entry], $name), scalar mean_of([$entry], $name));
            my $counter = $entry->{stats}{counters}{$name};
            $mean = $NONE if !defined $counter->{sum};
            push @rows, sprintf ' %-*s %-*s%s%s %s', $wide, $instance, $name_wide, $name, shown($rate, 9, 0), shown($mean, 12, 1),
                $counter->{unit};
        }
    }
    my $columns = sprintf ' %-*s %-*s%9s%12s Unit', $wide, 'Service', $name_wide, 'Request', 'Rate', 'Mean';
    return ("LUSTRE SERVICE DETAIL (rate $main::rate, mean in the unit)", $columns, @rows);
}

sub widest {
    my ($least, @words) = @_;
    foreach my $word (@words) { $least = length $word if length $word > $least }
    return $least;
}

# ---- Plot ----

# The summary has the same columns on every server: name and number.
my @SUMMARY = (
    ['OstRead',  sub { return rate_of(one_of(\%now, 'ost_io'), 'ost_read') }],
    ['OstWrite', sub { return rate_of(one_of(\%now, 'ost_io'), 'ost_write') }],
    ['OstPing',  sub { return rate_of(one_of(\%now, 'ost'), 'obd_ping') }],
    ['MdsPing',  sub { return rate_of(group_of(\%now, 'mds'), 'obd_ping') }],
    (map { summary_of('OstIo', 'ost_io', $_) } @SERVICE),
    (map { summary_of('Ost', 'ost', $_) } @SERVICE),
    (map { summary_of('Mdt', 'mdt', $_) } @SERVICE),
    ['Errors', sub { return $errors }],
);

sub summary_of {
    my ($title, $instance, $column) = @_;
    return ["$title$column->[0]", sub { return $column->[2]->(one_of(\%now, $instance)) }];
}

# The detail's columns are those that are known when the header is printed; collectl cannot add one to a file that has begun.
my @detail;

sub main::lustre_ossPrintPlot {
    my ($type, $line) = @_;
    if    ($type == 1) { ${$line} .= "[LSV]$_->[0]$main::SEP" foreach @SUMMARY }
    elsif ($type == 2) { ${$line} .= "[LSV:$_->[0]]$_->[1]$main::SEP" foreach @detail = detail_columns() }
    else {
        foreach my $column ($type == 3 ? @SUMMARY : @detail) {
            my $value = $column->[-1]->();
            ${$line} .= $main::SEP . (defined $value ? plain($value) : 'NaN');
        }
    }
    return;
}

# Service, name, number: the columns of a service, then rate and mean of each counter.
sub detail_columns {
    my @columns;
    my %service = map { $_ => 1 } services_of(\%now);
    foreach my $instance (sort keys %now) {
        (my $title = $instance) =~ s/[^\w.-]/_/g;
        push @columns, map { [$title, @{summary_of(q{}, $instance, $_)}] } $service{$instance} ? @SERVICE : ();
        foreach my $name ($now{$instance}{stats} ? @{$now{$instance}{stats}{names}} : ()) {
            next if $service{$instance} && $name =~ /\Areq_/;    # they are among the service's own
            (my $heading = $name) =~ s/[^\w.-]/_/g;
            push @columns, [$title, $heading, sub { return rate_of(one_of(\%now, $instance), $name) }];
            next if !defined $now{$instance}{stats}{counters}{$name}{sum};
            push @columns, [$title, "${heading}_mean", sub { return mean_of(one_of(\%now, $instance), $name) }];
        }
    }
    return @columns;
}

# ---- Export ----

sub main::lustre_ossPrintExport {
    my ($type, @lists) = @_;
    if    ($type eq 'g') { export_counters(@lists) }
    elsif ($type eq 'l') { export_rates(@lists) }
    return;
}

# Carbon gets what the kernel counts. Statistics of single clients (exports) stay in the raw file: there may be 25,000.
sub export_counters {
    my ($names, $units, $values, $groups) = @_;
    foreach my $instance (grep { $now{$_}{stats} && !/[.]exports[.]/ } sort keys %now) {
        my $stats = $now{$instance}{stats};
        foreach my $name (@{$stats->{names}}) {
            my $counter = $stats->{counters}{$name};
            my $base = 'counters.' . name_node($instance) . q{.} . name_node($name);
            foreach my $leaf (grep { defined $counter->{$_} } @{$METRICS{'counters.INSTANCE.COUNTER'}}) {
                push @{$names},  "$base.$leaf";
                push @{$units},  $leaf eq 'samples' ? 'events' : $counter->{unit};
                push @{$values}, $counter->{$leaf};
                push @{$groups}, 'lustre';
            }
        }
    }
    return if !defined $main::expName || $main::expName ne 'lnetcarbon';    # it adds up what all modules tell; others would send both
    my %self = (errors => $errors, duration_ms => $took_ms);
    foreach my $leaf (grep { defined $self{$_} } @{$METRICS{self}}) {
        push @{$names},  "self.$leaf";
        push @{$units},  $leaf eq 'errors' ? 'reads' : 'ms';
        push @{$values}, $self{$leaf};
        push @{$groups}, 'lustre';
    }
    return;
}

# lexpr gets the columns of the plot files, without those that have no value. As text: its own rounding is wrong for fractions.
sub export_rates {
    my ($names, $values, $detail_names, $detail_values, $gauges, $detail_gauges, $formats, $detail_formats) = @_;
    if ($option{show} =~ /s/) { add_rates('lsv', $names, $values, $gauges, $formats, @SUMMARY) }
    if ($option{show} =~ /d/) { add_rates('lsvdet', $detail_names, $detail_values, $detail_gauges, $detail_formats, detail_columns()) }
    return;
}

sub add_rates {
    my ($base, $names, $values, $gauges, $formats, @columns) = @_;
    foreach my $column (@columns) {
        my ($name, $value) = (join(q{.}, $base, @{$column}[0 .. $#{$column} - 1]), scalar $column->[-1]->());
        next if !defined $value;
        push @{$names},   $name;
        push @{$values},  plain($value);
        push @{$gauges},  1;
        push @{$formats}, '%s';
    }
    return;
}

1;
