#!/bin/sh
# Takes away the byte code that postinstall.sh made.  With rpm, "1" is an upgrade: the new version's is there by now.
if [ "$1" != 1 ] && [ -d /usr/lib/perfdiag ]; then
	find /usr/lib/perfdiag -name __pycache__ -prune -exec rm -rf {} +
fi
exit 0
