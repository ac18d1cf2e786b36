#!/bin/sh
# stops.sh signal|freezer MS: stops the process of ./pid for so long, each two seconds.
set -eu
how=$1 stopped_ms=$2
group=/sys/fs/cgroup/unified/perfdiag-stopped-$$
[ -d /sys/fs/cgroup/unified ] || group=/sys/fs/cgroup/perfdiag-stopped-$$

seconds() {
	printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000))
}

leave() {
	trap '' EXIT
	kill -CONT "$pid" 2>/dev/null || :
	[ -d "$group" ] || exit 0
	echo 0 >"$group/cgroup.freeze"
	echo "$pid" >"${group%/*}/cgroup.procs" || :
	until rmdir "$group"; do sleep 0.1; done
	exit 0
}

[ "$stopped_ms" -gt 0 ] || exec sleep infinity
until [ -e pid ]; do sleep 0.1; done
pid=$(cat pid)
trap leave EXIT INT TERM
if [ "$how" = freezer ]; then
	mkdir "$group"
	echo "$pid" >"$group/cgroup.procs"
fi
while :; do
	sleep "$(seconds $((2000 - stopped_ms)))"
	if [ "$how" = freezer ]; then echo 1 >"$group/cgroup.freeze"; else kill -STOP "$pid"; fi
	sleep "$(seconds "$stopped_ms")"
	if [ "$how" = freezer ]; then echo 0 >"$group/cgroup.freeze"; else kill -CONT "$pid"; fi
done
