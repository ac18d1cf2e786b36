# Ten runners: each asks for the latest revision, builds for a moment, and asks again.
runner() {
	while :; do
		began=$(date +%s%N)
		until ssh -F ssh.conf repositories echo revision >/dev/null; do
			sleep 3
		done
		echo $((($(date +%s%N) - began) / 1000000)) >>jobs.log
		sleep 1.5
	done
}
for number in 1 2 3 4 5 6 7 8 9 10; do
	runner &
	sleep 0.1
done
wait
