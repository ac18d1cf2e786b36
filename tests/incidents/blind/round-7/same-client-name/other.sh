# The other client: writes a file of its own to the same server, some times a second.
hostname "$NAME"
while :; do
	date >"$PWD/other/file" || true
	cat "$PWD/other/file" >/dev/null || true
	sleep 0.25
done
