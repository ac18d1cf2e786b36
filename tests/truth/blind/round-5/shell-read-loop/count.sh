# LOG HOW: counts errors in a log that comes through a pipe.
by_read() {
	errors=0
	while IFS= read -r line; do
		case $line in *ERROR*) errors=$((errors + 1)) ;; esac
	done
	echo "$errors"
}
if [ "$2" = read ]; then
	cat "$1" | by_read
else
	cat "$1" | grep -c ERROR
fi
