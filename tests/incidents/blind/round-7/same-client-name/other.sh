# The other client: writes a file of its own to the same server, some times a second. A call that fails is tried again
# the next time round: the server throws away the state of one client whenever the other of its name comes.
hostname "$NAME"
while :; do
	date >"$PWD/other/file"
	cat "$PWD/other/file" >/dev/null
	sleep 0.25
done
