# A module for the tests alone: exports what a plan says, sample by sample, through a real collectl.
#
#   --import tests/collectors/numbers.ph,plan=FILE[,interval=S]
#
# The plan: `at SECONDS` begins a sample that is given this time (`at -`: the clock stays as it is), `wait FILE` holds it until the file is
# there (so that a test can do something between two samples), every other line is `NAME VALUE`. The first sample is only the baseline.
# `interval`: what collectl is told that it samples at, run with -i0 as fast as it can.
package Lnetstat::Numbers;
use strict;
use warnings;
use Time::HiRes ();

my (@steps, @now, $interval);
my $done = 0;

sub load_plan {
    my ($file) = @_;
    open my $plan, '<', $file or main::error("numbers.ph: $file: $!");
    while (my $line = <$plan>) {
        chomp $line;
        my ($word, $rest) = split / /, $line, 2;
        if    ($word eq 'at')   { push @steps, {time => $rest, values => []} }
        elsif ($word eq 'wait') { $steps[-1]{wait} = $rest }
        else                    { push @{ $steps[-1]{values} }, $line }
    }
    close $plan;
    return;
}

# collectl asks gettimeofday once for each sample, before any module reads.
sub set_clock {
    my $real = \&Time::HiRes::gettimeofday;
    no warnings 'redefine', 'prototype';
    *Time::HiRes::gettimeofday = sub {
        my $time = $steps[$done < @steps ? $done : -1]{time};
        return $real->() if $time eq '-';
        my ($seconds, $rest) = split /[.]/, $time;
        return ($seconds, substr(($rest || '') . '000000', 0, 6));
    };
    return;
}

sub main::numbersInit {
    my ($options, $key) = @_;
    my %option = map { split /=/, $_, 2 } split /,/, ${$options} || '';
    load_plan($option{plan}) if defined $option{plan};
    $interval = $option{interval};
    set_clock() if @steps && $steps[0]{time} ne '-';
    ${$options} = 's';
    ${$key}     = 'zqnumbers';
    return 1;
}

sub main::numbersGetData {
    ($main::interval, $main::uInterval) = ($interval, 0) if defined $interval;    # it still does not wait
    my $step = $steps[$done < @steps ? $done : -1];
    if ($step->{wait}) {
        Time::HiRes::sleep(0.01) until -e $step->{wait};
    }
    $done++;
    main::record(2, join("\t", 'zqnumbers-all x', @{ $step->{values} }) . "\n");
    return;
}

sub main::numbersAnalyze {
    my ($type, $data) = @_;
    my ($x, @values) = split /\t/, ${$data};
    @now = map { [split / /, $_, 2] } @values;
    return;
}

sub main::numbersPrintExport {
    my ($type, $names, $units, $values) = @_;
    foreach my $pair (@now) {
        push @{$names},  $pair->[0];
        push @{$units},  'units';
        push @{$values}, $pair->[1];
    }
    return;
}

sub main::numbersUpdateHeader { return }
sub main::numbersInitInterval { return }
sub main::numbersPrintBrief   { return }
sub main::numbersPrintVerbose { return }
sub main::numbersPrintPlot    { return }
1;
