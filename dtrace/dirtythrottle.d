#!/usr/sbin/dtrace -s
/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * dirtythrottle.d - Which writers does the kernel pause because of dirty pages, and for how long?
 *
 * write(2) only changes pages in memory. If too many wait for their disk, the kernel pauses processes that change
 * more, even one that writes little beside one that writes much. The writer sleeps in write(2), not at a disk.
 *
 * USAGE
 *   dirtythrottle.d [PID [SECONDS]]
 *   PID      the process that is traced; without it, or 0: all processes
 *   SECONDS  how long to trace; without it: until Ctrl-C
 *
 * OS
 *   Linux    run: DTrace 2.0.7, Linux 6.12
 *   illumos  none: it needs tracepoints of Linux
 *   FreeBSD  none: it needs tracepoints of Linux
 *   macOS    none: it needs tracepoints of Linux
 *
 * REQUIRES
 *   DTrace for Linux, root; probes sdt:writeback::balance_dirty_pages, and fbt of io_schedule_timeout, as DTrace cannot
 *   read the twelfth field of a tracepoint, which is the pause.
 *
 * FIELDS
 *   pause_ns     pauses by length, in nanoseconds: a row holds those from its value to the next one
 *   pauses       pauses by DEVICE, THREAD and its process: how many, mean and sum of their lengths in nanoseconds
 *   longest_ns   the longest pause by DEVICE, in nanoseconds
 *   dirty_pages  most pages of memory that waited for DEVICE at a pause: 4096 bytes each on x86
 *
 * EXAMPLE
 *   # dirtythrottle.d 810
 *   Tracing pauses of writers. Ctrl-C ends.
 *   pause_ns:
 *              value  ------------- Distribution ------------- count
 *            4194304 |                                         0
 *            8388608 |@@@@@@@@@@@@@@@@@@@@@@                   93
 *           16777216 |@@@@@@@@@@@@@@@@@@                       75
 *           33554432 |                                         0
 *   pauses:
 *     254:16 flush 810  count 168, average 17445615, total 2930863387
 *   longest_ns:
 *     254:16           28214543
 *   dirty_pages:
 *     254:16           2064
 *
 *   The process was paused again and again, while pages waited for a slow device. A faster disk, or a writer that
 *   writes less, would help; a higher limit only lets more wait.
 *
 * OVERHEAD
 *   Attaches in 14 s and takes 101 MiB. Adds at most 27 % to each fdatasync(2) of a file on a disk, which is lost in
 *   the noise: that then executes 0.90 to 1.27 times as many instructions. Measured with DTrace 2.0.7 in an emulated
 *   Linux 6.12.117+deb13-amd64 with 2 CPUs by make bench ARGS=dtrace.
 *
 * CAVEATS
 *   DEVICE is the backing device, mostly MAJOR:MINOR of a disk as lsblk(8) shows it; for NFS and FUSE it is that of the
 *   mount, and btrfs has other names.
 *   The limit is unknown: that of the host (vm.dirty_ratio), of a control group, or of the device.
 *   A pause in which a thread is at the start is not counted: it is 200 ms at most.
 *   A pause ends when its thread runs again: a wait for a CPU after it is part of it.
 *   A writer that waits for a page that is being written, or for the journal, is not paused: that is not seen here. It
 *   can be more than the pauses: a file that was written anew on ext4 was waited for 3.1 s, in pauses 1.3 s of them.
 *
 * SEE ALSO
 *   perfdiag-latency(8): MEM-DIRTY-THROTTLE DISK-WRITE-SLOW DISK-SATURATED
 */
#pragma D option quiet
#pragma D option defaultargs

inline int target = $1; /* PID: a number */
inline int seconds = $2; /* SECONDS: a number */

/* tell that it traces */
dtrace:::BEGIN
{
	printf("Tracing pauses of writers. Ctrl-C ends.\n");
}

/* note that a writer is looked at: a pause may follow */
sdt:writeback::balance_dirty_pages
/target == 0 || pid == target/
{
	self->looked = 1;
	self->device = stringof(args[0]);
	self->dirty_pages = args[5];
}

/* begin a pause: a fifth of a second at most, 200 ticks with HZ=1000; other such waits may last seconds */
fbt::io_schedule_timeout:entry
/self->looked && arg0 <= 200/
{
	self->begin = timestamp;
}

/* book a pause */
fbt::io_schedule_timeout:return
/self->begin != 0/
{
	this->ns = timestamp - self->begin;
	@pause_ns = quantize(this->ns);
	@pauses[self->device, execname, pid] = count();
	@average_ns[self->device, execname, pid] = avg(this->ns);
	@total_ns[self->device, execname, pid] = sum(this->ns);
	@longest_ns[self->device] = max(this->ns);
	@dirty_pages[self->device] = max(self->dirty_pages);
}

/* forget a look at a writer */
fbt::io_schedule_timeout:return
/self->looked/
{
	self->begin = 0;
	self->looked = 0;
	self->device = 0;
	self->dirty_pages = 0;
}

/* end after so many seconds */
profile:::tick-1s
/seconds > 0 && ++seconds_passed >= seconds/
{
	exit(0);
}

/* print the tables, each under its name */
dtrace:::END
{
	printf("\n");
	printa("pause_ns:%@d", @pause_ns);
	printf("pauses:\n");
	printa("  %s %s %d  count %@d, average %@d, total %@d\n", @pauses, @average_ns, @total_ns);
	printf("longest_ns:\n");
	printa("  %-16s %@d\n", @longest_ns);
	printf("dirty_pages:\n");
	printa("  %-16s %@d\n", @dirty_pages);
}
