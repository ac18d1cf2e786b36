#!/bin/sh
# Removes what is left of directories that only perfdiag has ("0": rpm removes, and does not upgrade).
case "$1" in
remove | purge | 0) rm -rf /usr/lib/perfdiag ;;
esac
exit 0
