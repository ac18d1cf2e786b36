# nightly.sh FOLDER wait|poll: sorts the parts, one after the other, and notes how long that took.
begun=$(date +%s.%N)
for part in 1 2 3 4 5; do
	LC_ALL=C sort "$1/part-$part" >"$1/sorted-$part" &
	if [ "$2" = poll ]; then
		while kill -0 $! 2>/dev/null; do sleep 0.5; done
	fi
	wait $!
done
echo "$(date +%s.%N) $begun" | awk '{ print $1 - $2 }' >>"$1/rounds"
