# build.sh FOLDER: makes all pages, and notes how long that took.
begun=$(date +%s.%N)
make --silent -C "$1" -j 8 2>/dev/null
echo "$(date +%s.%N) $begun" | awk '{ print $1 - $2 }' >>"$1/rounds"
