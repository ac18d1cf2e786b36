# Freezes the file system for each of four volumes' snapshots.
[ "$FREEZE" = 0 ] && exit
until [ -s "$1/log" ]; do sleep 0.1; done
for _ in 1 2 3 4; do
	sleep 0.5
	fsfreeze -f "$1"
	sleep "$FREEZE"
	fsfreeze -u "$1"
done
