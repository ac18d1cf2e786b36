#!/bin/sh
# What runs in a guest: mounts the rest, then runs what the host asks for, or a shell.
#
# /lab is the folder of this boot on the host.  A line on the second serial port is the name of a job; /lab/NAME.sh is
# run, its output put beside it, and "done NAME STATUS" is the answer.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=linux LC_ALL=C.UTF-8
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
mkdir -p /dev/pts /dev/shm /dev/mqueue /lib/modules
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t tracefs tracefs /sys/kernel/tracing
mount -t debugfs debugfs /sys/kernel/debug
mount -t bpf bpf /sys/fs/bpf
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t mqueue mqueue /dev/mqueue
ln -sf /proc/self/fd /dev/fd
ip link set lo up
hostname lab

mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=262144 modules /lib/modules
echo "+cpu +memory" >/sys/fs/cgroup/cgroup.subtree_control
for module in fuse loop xfs btrfs overlay; do modprobe "$module"; done
# On a file system in memory a program is never waited for.
cp -r /lab/bin /run/bin
export PATH="/run/bin:$PATH"

if grep -q lab.shell /proc/cmdline; then
	echo "Linux $(uname -r): perfdiag-recorder and the workloads are on the PATH, /lab is a folder of the host; exit ends it."
	cd /root || exit
	setsid -c bash -i </dev/ttyS0 >/dev/ttyS0 2>&1
else
	stty -F /dev/ttyS1 raw -echo
	exec 3<>/dev/ttyS1
	echo "ready $(uname -r)" >&3
	while read -r job <&3; do
		timeout --signal=KILL 120 sh "/lab/$job.sh" </dev/null >"/lab/$job.out" 2>&1
		echo "done $job $?" >&3
	done
fi
echo o >/proc/sysrq-trigger
sleep 60
