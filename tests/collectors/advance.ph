# A module for the tests alone, named first in --import: before the other modules read sample N it puts the files of step N in place, and
# gives the sample the time of the step. So a recording of minutes passes in seconds through a real collectl, with its own stamps.
#
#   --import tests/collectors/advance.ph,plan=FILE:…
#
# The plan: `at SECONDS MICROSECONDS` begins a step (`at 0 0`: the clock stays as it is), `put FROM TO` renames a prepared file onto its
# place, `cut FILE` removes one. Behind the last step nothing changes any more, and the clock stands one second after it.
package Lnetstat::Advance;
use strict;
use warnings;

my @steps;
my $done  = 0;
my $index = 0;

sub load_plan {
    my ($file) = @_;
    open my $plan, '<', $file or main::error("advance.ph: $file: $!");
    while ( my $line = <$plan> ) {
        chomp $line;
        my ( $verb, @words ) = split / /, $line;
        if ( $verb eq 'at' ) { push @steps, { time => [@words], moves => [] } }
        else                 { push @{ $steps[-1]{moves} }, [ $verb, @words ] }
    }
    close $plan;
    set_clock() if $steps[0]{time}[0];
    return;
}

# collectl asks gettimeofday once for each sample, before any module reads. The modules that read ask time(): they get the sample's time too.
# The export keeps the real clock: its connection to Carbon is real.
sub set_clock {
    no warnings 'redefine', 'prototype';
    my $real = \&Time::HiRes::time;
    *Time::HiRes::gettimeofday = sub {
        my ( $seconds, $micros ) = now($done);
        return wantarray ? ( $seconds, $micros ) : $seconds + $micros / 1e6;
    };
    *Time::HiRes::time = sub {
        return $real->() if caller eq 'Lnetstat::Carbon';
        my ( $seconds, $micros ) = now( $done - 1 );
        return $seconds + $micros / 1e6;
    };
    return;
}

# The time of a step; behind the last step a second later.
sub now {
    my ($step) = @_;
    $step = 0 if $step < 0;
    my $after = $step > $#steps ? 1 : 0;
    my ( $seconds, $micros ) = @{ $steps[ $after ? -1 : $step ]{time} };
    return ( $seconds + $after, $micros );
}

sub next_step {
    return if $done >= @steps;
    foreach my $move ( @{ $steps[$done]{moves} } ) {
        my ( $verb, $from, $to ) = @{$move};
        my $ok = $verb eq 'put' ? rename( $from, $to ) : ( unlink($from) || !-e $from );
        die "advance.ph: @{$move}: $!\n" if !$ok;
    }
    $done++;
    return;
}

sub main::advanceInit {
    my ( $options, $key ) = @_;
    my ($file) = ( ${$options} || q{} ) =~ /\Aplan=(.+)\z/;
    main::error('advance.ph: expected plan=FILE') if !defined $file;
    load_plan($file) if $main::playback eq q{};
    ${$options} = 's';
    ${$key}     = 'zqadvance';
    return 1;
}

sub main::advanceUpdateHeader { return }
sub main::advanceGetData      { return next_step() }
sub main::advanceInitInterval { return }
sub main::advanceAnalyze      { return }
sub main::advancePrintBrief   { return }
sub main::advancePrintVerbose { return }
sub main::advancePrintPlot    { return }
sub main::advancePrintExport  { return }

1;
