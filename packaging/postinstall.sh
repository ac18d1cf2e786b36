#!/bin/sh
# Makes byte code for each Python of this host that perfdiag can use: perfdiag as root writes none, and would compile
# everything at each start.  Without it perfdiag is slower and works: nothing here makes an installation fail.
# What an earlier version left for a Python that is gone would be taken for this version's when that comes back.
find /usr/lib/perfdiag/python -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || :
for minor in 11 12 13 14; do
	python=/usr/bin/python3.$minor
	[ -x "$python" ] || continue
	"$python" -IS -m compileall -q -f --invalidation-mode unchecked-hash /usr/lib/perfdiag/python >/dev/null 2>&1 || :
done
exit 0
