# The other client: has the files open, until somebody shuts it.
for number in 0 1 2 3; do cat "$PWD/other/settings-$number" >/dev/null; done
[ "$GONE" = 1 ] && ip -n far link set eth0 down
