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
