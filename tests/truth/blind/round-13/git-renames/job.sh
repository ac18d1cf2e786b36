# job.sh FOLDER OPTION: tells what the last commit has changed, and notes how long that took.
begun=$(date +%s.%N)
git -C "$1/repository" diff --shortstat "$2" -l0 HEAD~1 HEAD >"$1/changes"
echo "$(date +%s.%N) $begun" | awk '{ print $1 - $2 }' >>"$1/rounds"
