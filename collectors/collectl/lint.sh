#!/bin/sh
# What must hold for the .ph files: each loads alone without a warning, needs no perl newer than 5.10, and is clean for perlcritic at
# severity 4 with .perlcriticrc. `make lint` runs it; a tool that is not installed is named and left out.
set -eu
cd "$(dirname "$0")"

perl -e 1 2>/dev/null || { echo "collectl plug-ins: not checked: perl is not installed"; exit 0; }
for file in *.ph; do
    # collectl's globals that a module looks at while it is loaded
    perl -we 'BEGIN { $SIG{__WARN__} = sub { die @_ } } { no warnings "once"; $main::filename = $main::playback = q{} } require $ARGV[0]' "./$file"
done

if perl -MPerl::MinimumVersion -e 1 2>/dev/null; then
    perl -MPerl::MinimumVersion -e '
        foreach my $file (@ARGV) {
            my $least = Perl::MinimumVersion->new($file)->minimum_version;
            die "$file: needs perl $least: only 5.10 may be needed\n" if $least > version->parse("5.010");
        }' *.ph
else
    echo "collectl plug-ins: oldest perl not checked: Perl::MinimumVersion is missing (apt-get install libperl-minimumversion-perl)"
fi

if command -v perlcritic >/dev/null; then
    perlcritic --quiet --profile .perlcriticrc ./*.ph
else
    echo "collectl plug-ins: perlcritic left out: it is not installed (apt-get install libperl-critic-perl)"
fi
