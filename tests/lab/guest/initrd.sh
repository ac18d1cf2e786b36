#!/bin/busybox sh
# shellcheck shell=dash
# The first program of a guest: finds its disk and goes on from there.
bb=/bin/busybox
$bb mount -t proc proc /proc
$bb mount -t sysfs sys /sys
$bb mount -t devtmpfs dev /dev
for module in /modules/*.ko; do $bb insmod "$module" 2>/dev/null; done
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	$bb test -b /dev/vda && break
	$bb usleep 100000
done
$bb mount -t ext4 -o rw,noatime /dev/vda /newroot
for part in proc sys dev; do $bb mount --move /$part /newroot/$part; done
# The folder of this boot on the host; what comes next lies there, so that a change to it needs no new disk.
$bb mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 lab /newroot/lab
exec $bb switch_root /newroot /bin/sh /lab/guest.sh
