# When the target has begun, the switch is started anew: its path is gone for so many seconds.
until [ -s mounted/log ]; do sleep 0.1; done
PATH_ID=$(cat path)
[ $GONE = 0 ] || {
	dmsetup message lun 0 "fail_path $PATH_ID"
	sleep $GONE
	dmsetup message lun 0 "reinstate_path $PATH_ID"
}
