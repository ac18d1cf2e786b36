#!/usr/sbin/dtrace -s
/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * flushlat.d - Which files are flushed to disk, how often, and how long does it take?
 *
 * A database or queue that promises durability waits for fsync(2) and its kin at every commit. One slow file is a
 * slow disk or a journal behind it; many fast flushes of one file are a program that commits too often.
 *
 * USAGE
 *   flushlat.d [PID [SECONDS]]
 *   PID      the process that is traced; without it, or 0: all processes
 *   SECONDS  how long to trace; without it: until Ctrl-C
 *
 * OS
 *   Linux    run: DTrace 2.0.7, Linux 6.12
 *   illumos  untested: its sources have fdsync, which fsync(2) and fdatasync(2) are there
 *   FreeBSD  none: its DTrace has no fds[], which names the file
 *   macOS    unknown
 *
 * REQUIRES
 *   DTrace, root; the probes of the system calls that flush a file, those that the system has.
 *
 * FIELDS
 *   flush_ns    flushes by length, by FILE, in nanoseconds: a row holds those from its value to the next one
 *   flushes     flushes by FILE: how many, mean and sum of their lengths in nanoseconds
 *   longest_ns  the longest flush by FILE, in nanoseconds
 *   failed      flushes that failed, by FILE and errno: after 5 (EIO) written data may be lost
 *
 * EXAMPLE
 *   # flushlat.d 414
 *   Tracing flushes of files. Ctrl-C ends.
 *   flush_ns:
 *     journal.db
 *              value  ------------- Distribution ------------- count
 *             524288 |                                         0
 *            1048576 |@@@@@@@@@@@@@@@@@@@@@@@                  13
 *            2097152 |@@@@@@@@@                                5
 *            4194304 |@@@@@                                    3
 *            8388608 |@@@                                      2
 *           16777216 |                                         0
 *   flushes:
 *     journal.db           count 23, average 3307713, total 76077417
 *   longest_ns:
 *     journal.db           16431375
 *   failed:
 *
 *   Each of the 23 flushes of one file is told, and none of another one. The sum is what the process has waited for its
 *   disk.
 *
 * OVERHEAD
 *   Attaches in 9 s and takes 102 MiB. Adds 16,693 instructions to each fdatasync(2) of a file in memory, which then
 *   executes 5.42 times as many (5.41 to 5.43). Measured with DTrace 2.0.7 in an emulated Linux 6.12.117+deb13-amd64
 *   with 2 CPUs by make bench ARGS=dtrace.
 *
 * CAVEATS
 *   FILE is the last part of a path: files of the same name in two folders stand in one row.
 *   Not seen: msync(2), writes to a file opened with O_SYNC or O_DSYNC, sync(2), flushes by io_uring(7).
 *   A flush that had begun before the script did is not counted.
 *
 * SEE ALSO
 *   perfdiag-latency(8): DISK-FLUSH-SLOW NFS-COMMIT-SLOW SQLITE-ON-NFS
 */
#pragma D option quiet
#pragma D option defaultargs
#pragma D option zdefs

inline int target = $1; /* PID: a number */
inline int seconds = $2; /* SECONDS: a number */

/* tell that it traces */
dtrace:::BEGIN
{
	printf("Tracing flushes of files. Ctrl-C ends.\n");
}

/* begin a flush: take the time, and the name of the file */
syscall::fsync:entry,
syscall::fdatasync:entry,
syscall::fdsync:entry,
syscall::sync_file_range:entry
/target == 0 || pid == target/
{
	self->begin = timestamp;
	self->file = fds[arg0].fi_name;
}

/* count a flush that failed */
syscall::fsync:return,
syscall::fdatasync:return,
syscall::fdsync:return,
syscall::sync_file_range:return
/self->begin && errno != 0/
{
	@failed[self->file, errno] = count();
}

/* book a flush */
syscall::fsync:return,
syscall::fdatasync:return,
syscall::fdsync:return,
syscall::sync_file_range:return
/self->begin/
{
	this->ns = timestamp - self->begin;
	@flush_ns[self->file] = quantize(this->ns);
	@flushes[self->file] = count();
	@average_ns[self->file] = avg(this->ns);
	@total_ns[self->file] = sum(this->ns);
	@longest_ns[self->file] = max(this->ns);
	self->begin = 0;
	self->file = 0;
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
	printf("\nflush_ns:\n");
	printa("  %s%@d", @flush_ns);
	printf("flushes:\n");
	printa("  %-20s count %@d, average %@d, total %@d\n", @flushes, @average_ns, @total_ns);
	printf("longest_ns:\n");
	printa("  %-20s %@d\n", @longest_ns);
	printf("failed:\n");
	printa("  %s, errno %d: %@d\n", @failed);
}
