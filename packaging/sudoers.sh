#!/bin/sh
# Prints the rule of sudo that perfdiag(8), on standard input, shows, for the packages' /usr.
set -eu
sed -n '/^Cmnd_Alias PERFDIAG/,/^%operators/p' |
	sed -e 's/\\e$/\\/' -e 's/\\(ha/^/g' -e 's/\\-/-/g' -e 's,/usr/local/bin,/usr/bin,g'
