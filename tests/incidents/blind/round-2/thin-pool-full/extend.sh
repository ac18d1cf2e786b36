# Looks after the pool, as a monitor does, and extends it some time after it is found full.
while :; do
	if dmsetup status --noflush pool | grep -q out_of_data_space; then
		sleep 8
		dmsetup table pool | sed "s/^0 [0-9]*/0 262144/" >table
		dmsetup suspend --noudevsync --noflush pool
		dmsetup reload pool table
		dmsetup resume --noudevsync pool
	fi
	sleep 0.5
done
