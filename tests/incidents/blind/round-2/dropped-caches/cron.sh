# Looks after memory once a second.
while :; do
	sync
	[ "$1" = sync ] || echo 3 >/proc/sys/vm/drop_caches
	sleep 1
done
