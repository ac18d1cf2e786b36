# A small array is through in seconds: it is checked again, as a large one would still be.
while [ "$CHECK" = 1 ]; do
	dmsetup message mirror 0 check 2>/dev/null
	sleep 0.3
done
