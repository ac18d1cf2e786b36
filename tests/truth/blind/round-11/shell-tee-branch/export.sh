# export.sh FOLDER HERE BYTES: exports what is in FOLDER/orders, to two places, and notes how long that took.
begun=$(date +%s.%N)
cat "$1/orders" | tee >(/usr/bin/python3 "$2/upload.py" "$3") | cksum >"$1/checksum"
wait $!
echo "$(date +%s.%N) $begun" | awk '{ print $1 - $2 }' >>"$1/rounds"
