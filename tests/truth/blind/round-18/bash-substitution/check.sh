#!/bin/bash
# check.sh: what a check has found, as one string of JSON for who collects it.
while :; do
	began=$(date +%s%N)
	report=$(cat report)
	report=${report//\\/\\\\}
	report=${report//\"/\\\"}
	report=${report//$'\n'/\\n}
	echo "{\"report\": \"$report\"}" >sent
	echo $(($(date +%s%N) - began)) >>"done"
	sleep 0.3
done
