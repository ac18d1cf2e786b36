# sorts yesterday's log again and again
while :; do
	sort --parallel=1 log -o sorted
	echo sorted >>rounds
	sleep 0.5
done
