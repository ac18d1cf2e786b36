# invoices.sh FOLDER forked|read: sums up the orders of each customer, and notes how long that took.
begun=$(date +%s.%N)
declare -A sums
case $2 in
forked)
	while read -r line; do
		customer=$(echo "$line" | cut -d, -f2)
		price=$(echo "$line" | cut -d, -f3)
		sums[$customer]=$((${sums[$customer]:-0} + price))
	done <"$1/orders.csv"
	;;
*)
	while IFS=, read -r _ customer price _; do
		sums[$customer]=$((${sums[$customer]:-0} + price))
	done <"$1/orders.csv"
	;;
esac
echo "${#sums[@]}" >"$1/customers"
echo "$(date +%s.%N) $begun" | awk '{ print $1 - $2 }' >>"$1/rounds"
