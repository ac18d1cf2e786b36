# The other node of the pair: takes the address, too, as if the first were gone.
[ "$BOTH" = 1 ] || exec sleep 1000
ip -n node2 address add 10.84.0.100/24 dev eth0
exec ip netns exec node2 python3 "$here/announce.py" 1
