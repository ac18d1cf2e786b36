[ "$OUTAGE" = 0 ] && exit
until [ -e "$mount/20" ]; do sleep 0.2; done
tc qdisc add dev lo root netem loss 100%
sleep "$OUTAGE"
tc qdisc del dev lo root
