# Loads file after file as they come.
while :; do
	began=$(date +%s%N)
	sqlite3 "$disk/shop.db" <articles.sql
	echo $((($(date +%s%N) - began) / 1000000)) >>files.log
	sleep 0.5
done
