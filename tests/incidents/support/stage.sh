# shellcheck shell=sh
# What scripts of incidents can call; the working directory is $folder.

# NAME MEGABYTES [OPTION OF slow_disk]...: a disk that takes its time; prints its device
slow_disk() {
	name=$1 size=$2
	shift 2
	truncate -s "${size}M" "/dev/shm/$name.image"
	: >"$name.slow"
	setsid slow_disk --file "/dev/shm/$name.image" --mount "$name.slow" "$@" >/dev/null 2>&1 &
	until grep -q " $PWD/$name.slow " /proc/self/mountinfo; do sleep 0.1; done
	stat "$name.slow" >/dev/null # older loop devices take the size that is known, not that of the server
	loop=$(losetup --find --show "$name.slow")
	echo 0 >"/sys/block/${loop#/dev/}/queue/rotational" # as flash is
	echo "$loop"
}

# NAME: ends it
end_slow_disk() {
	losetup --detach "$(losetup --noheadings --output NAME --associated "$1.slow")"
	umount "$1.slow"
	rm -f "/dev/shm/$1.image"
}

# CGROUP: moves the processes out of it and removes it
end_group() {
	while read -r member; do echo "$member" >/sys/fs/cgroup/cgroup.procs; done <"/sys/fs/cgroup/$1/cgroup.procs"
	rmdir "/sys/fs/cgroup/$1"
}

# SCORE: as the OOM killer is to see every process there is; one that ends meanwhile needs none
score_all() {
	for each in /proc/[0-9]*; do
		echo "$1" 2>/dev/null >"$each/oom_score_adj" || [ ! -d "$each" ]
	done
}

# PID: ends what a script left running, unless it is through
end_process() {
	[ ! -d "/proc/$1" ] || kill "$1"
}

# NAME MEGABYTES: a disk in memory, as fast as it can be; prints its device
fast_disk() {
	truncate -s "$2M" "/dev/shm/$1.image"
	losetup --find --show "/dev/shm/$1.image"
}

end_fast_disk() {
	losetup --detach "$(losetup --noheadings --output NAME --associated "/dev/shm/$1.image")"
	rm -f "/dev/shm/$1.image"
}

# NAME DEVICE READ_MS WRITE_MS FLUSH_MS: a layer above a disk that delays; prints its device
delayed() {
	modprobe dm-delay
	echo "0 $(blockdev --getsz "$2") delay $2 0 $3 $2 0 $4 $2 0 $5" | dmsetup create "$1" --noudevsync
	dmsetup mknodes --noudevsync "$1"
	echo "/dev/mapper/$1"
}

# NAME: ends it
end_delayed() {
	dmsetup remove --noudevsync "$1"
}
