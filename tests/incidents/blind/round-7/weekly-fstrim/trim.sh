# What the timer starts, again when it is through, as on a disk that is larger than this one.
[ "$TRIM" = 1 ] || exec sleep 1000
while fstrim mounted; do :; done
