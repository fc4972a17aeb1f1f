# For test_lnet_scan.py: lnet.ph without collectl. Each line on stdin is a word: `sample` reads the tree and prints what it exports,
# `partial` does so as if the scans of peers and routes had broken off;
# `parts SEED` reads the tree's `peers` in parts cut anywhere, breaking off now and then, into one scan, and prints what that says.
use strict;
use warnings;

my ($module, $tree) = @ARGV;
my $is_partial;
{
    no warnings 'once';
    *main::error  = sub { die "@_\n" };
    *main::record = sub {
        my ($type, $data) = split /\s+/, $_[1], 2;
        chomp $data;
        $data =~ s/^ok 0 /partial 116 / if $is_partial && $type =~ /^lnt-(?:peers|routes)$/;
        main::lnetAnalyze($type, \$data) if $type =~ /lnt/;
    };
}
require $module;
my ($options, $key) = "path=$tree";
main::lnetInit(\$options, \$key);
my $scan = Lnetstat::Lnet::new_scan();

sub parts {
    my ($seed) = @_;
    srand $seed;
    open my $file, '<', "$tree/peers" or die;
    my $text = do { local $/; <$file> };
    $text = '' if !defined $text;
    foreach my $end (rand() < .3 ? int rand length $text : (), length $text) {    # a scan that broke off, then a whole one
        Lnetstat::Lnet::begin_scan($scan);
        for (my $at = 0; $at < $end;) {
            my $length = 1 + int rand(rand() < .2 ? 8 : 3000);
            $length = $end - $at if $at + $length > $end;
            my $part = substr $text, $at, $length;
            Lnetstat::Lnet::take_part($scan, \$part);
            $at += $length;
        }
    }
    my ($nets, $worst) = Lnetstat::Lnet::survey($scan, Lnetstat::Lnet::end_scan($scan));
    print "$_ @{[map { defined $_ ? $_ : '-' } @{$nets->{$_}}]}\n" foreach sort keys %{$nets || {}};
    print "$_->[0] @{$_}[2 .. 7]\n" foreach @{$worst};
}

$| = 1;
while (my $word = <STDIN>) {
    if ($word =~ /^parts (\d+)/) { parts($1) }
    else {
        $is_partial = $word =~ /^partial/;
        main::lnetInitInterval();
        main::lnetGetData();
        my (@names, @units, @values);
        main::lnetPrintExport('g', \@names, \@units, \@values);
        print "$names[$_] $values[$_]\n" foreach 0 .. $#names;
    }
    print "end\n";
}
