# meter.ph: a collectl import for benches alone: says what a sample costs this collectl, and exports names where asked.
#
#   --import bench/collect/meter.ph,to=FILE[,metrics=N][,clock][,turn=FILE]
#
# to=FILE     at the end: the median CPU time of a sample in microseconds (all that this process did from one sample to the next), how many
#             samples, VmHWM and VmRSS in kB. Without other imports this is the empty import.
# metrics=N   so many names are exported, their values changing from sample to sample
# clock       each sample is a second later than the one before, and collectl does not wait for it (give -i1)
# turn=FILE   before each sample the link FILE is set to FILE.0, FILE.1, … in turn: a table that changes. Name this module first.
package Lnetstat::Meter;
use strict;
use warnings;
use Time::HiRes ();

my (@spent_us, $cpu_s, $to, @names, $turn, $second);
my ($samples, $excluded_s, $metrics, $pid) = (0, 0, 0, $$);

sub main::meterInit {
    my ($options, $key) = @_;
    foreach my $word (split /,/, ${$options} || '') {
        my ($name, $value) = split /=/, $word, 2;
        if    ($name eq 'to')      { $to      = $value }
        elsif ($name eq 'metrics') { $metrics = $value }
        elsif ($name eq 'turn')    { $turn    = $value }
        elsif ($name eq 'clock')   { set_clock() }
        else                       { main::error("meter.ph: option '$word': expected to=FILE, metrics=N, clock or turn=FILE") }
    }
    @names      = map { sprintf 'counters.mdt_%03d.req_%02d.sum', $_ / 20, $_ % 20 } 1 .. $metrics;
    ${$options} = 's';
    ${$key}     = 'zqmeter';
    return 1;
}

# collectl asks gettimeofday once for each sample.
sub set_clock {
    no warnings 'redefine', 'prototype';
    *Time::HiRes::gettimeofday = sub { return ($second += 1, 1000) };
    $second = time - 10_000;
    return;
}

# Called once between two samples. What turning a table costs is no part of them.
sub main::meterGetData {
    my $now_s = Time::HiRes::clock();
    push @spent_us, 1e6 * ($now_s - $cpu_s - $excluded_s) if defined $cpu_s;
    $cpu_s = $now_s;
    $main::uInterval = 0 if $second;
    $samples++;
    main::record(2, "zqmeter-n $samples\n");
    $excluded_s = 0;
    return if !defined $turn;
    my $next = $turn . q{.} . $samples % 12;
    symlink $next, "$turn.new" and rename "$turn.new", $turn or main::error("meter.ph: $turn: $!");
    $excluded_s = Time::HiRes::clock() - $now_s;
    return;
}

sub main::meterPrintExport {
    my ($type, $names, $units, $values) = @_;
    push @{$names},  @names;
    push @{$units},  map {'n'} @names;
    push @{$values}, map { 1_000_000 + $samples * $_ } 1 .. @names;
    return;
}

sub main::meterUpdateHeader { return }
sub main::meterInitInterval { return }
sub main::meterAnalyze      { return }
sub main::meterPrintBrief   { return }
sub main::meterPrintVerbose { return }
sub main::meterPrintPlot    { return }

END {
    if (defined $to && $$ == $pid && @spent_us) {
        my @sorted = sort { $a <=> $b } @spent_us;
        open my $status, '<', '/proc/self/status' or die "meter.ph: /proc/self/status: $!\n";
        my %kb = map { /^(VmHWM|VmRSS):\s+(\d+) kB/ ? ($1 => $2) : () } <$status>;
        close $status;
        open my $answer, '>', $to or die "meter.ph: $to: $!\n";
        printf {$answer} "%.2f %d %d %d\n", $sorted[@sorted / 2], scalar @spent_us, $kb{VmHWM}, $kb{VmRSS};
        close $answer or die "meter.ph: $to: $!\n";
    }
}
1;
