# REPOSITORY: has a tag deleted in transactions that a hook thinks about for a while, and then refuses.
export GIT_DIR=$1
number=0
while :; do
	number=$((number % 200 + 1))
	{
		echo start
		echo delete refs/tags/v$number
		echo prepare
		sleep 0.7
		echo abort
	} | git update-ref --stdin >/dev/null 2>&1 || :
	sleep 0.3
done
