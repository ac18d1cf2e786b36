# The bad cable: takes the carrier away for a while, again and again.
[ "$FLAPS" = 1 ] || exec sleep 1000
while :; do
	ip -n far link set eth0 down
	sleep 0.8
	ip -n far link set eth0 up
	sleep 0.5
done
