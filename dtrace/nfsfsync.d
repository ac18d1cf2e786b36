#!/usr/sbin/dtrace -s
/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * nfsfsync.d - How long do flushes of files on NFS take, and the calls to the server in them?
 *
 * fsync(2) of a file on NFS sends what is not written yet (WRITE), then asks the server to make it safe (COMMIT). Slow
 * COMMITs, or WRITEs that are to be stable at once, are the server's disk; many WRITEs for each flush are much data.
 *
 * USAGE
 *   nfsfsync.d [PID [SECONDS]]
 *   PID      the process whose flushes are traced; without it, or 0: all. Calls are those of all processes
 *   SECONDS  how long to trace; without it: until Ctrl-C
 *
 * OS
 *   Linux    run: DTrace 2.0.7, Linux 6.12
 *   illumos  none: it needs tracepoints of Linux
 *   FreeBSD  none: it needs tracepoints of Linux
 *   macOS    none: it needs tracepoints of Linux
 *
 * REQUIRES
 *   DTrace for Linux, root; nfs loaded: probes sdt:nfs::nfs_fsync_enter, nfs_fsync_exit, nfs_initiate_write,
 *   nfs_writeback_done, nfs_initiate_commit and nfs_commit_done.
 *
 * FIELDS
 *   flushes    flushes by MOUNT: how many, mean and sum of their lengths in nanoseconds.
 *              MOUNT is MAJOR:MINOR, the third field of /proc/PID/mountinfo
 *   write_ns   WRITE calls by MOUNT: how many, mean and sum of the nanoseconds until their answers
 *   commit_ns  COMMIT calls by MOUNT, likewise in nanoseconds
 *
 * EXAMPLE
 *   # nfsfsync.d 790
 *   Tracing flushes over NFS. Ctrl-C ends.
 *   flushes:
 *     0:39     count 7, average 85707386, total 599951705
 *   write_ns:
 *     0:39     count 56, average 14351951, total 803709280
 *   commit_ns:
 *     0:39     count 7, average 64733762, total 453136334
 *
 *   Each of seven flushes ends with a COMMIT, in which the server flushes its disk: most of a flush is that. The WRITEs
 *   before it are faster, as the server may keep in memory what they bring.
 *
 * OVERHEAD
 *   Attaches in 8 s and takes 113 MiB. Adds 11,596 instructions to each fsync(2) of 64 KiB on NFS, which then executes
 *   1.03 times as many (1.03 to 1.03). Measured with DTrace 2.0.7 in an emulated Linux 6.12.117+deb13-amd64 with 2 CPUs
 *   by make bench ARGS=dtrace.
 *
 * CAVEATS
 *   A flush that finds nothing to write counts, too. A WRITE or COMMIT that is sent again counts from the last time.
 *   One inode and offset on the way twice at once: the second one hides the first.
 *
 * SEE ALSO
 *   perfdiag-latency(8): NFS-COMMIT-SLOW NFS-SERVER-SLOW SQLITE-ON-NFS
 */
#pragma D option quiet
#pragma D option defaultargs

inline int target = $1; /* PID: a number */
inline int seconds = $2; /* SECONDS: a number */

/* tell that it traces */
dtrace:::BEGIN
{
	printf("Tracing flushes over NFS. Ctrl-C ends.\n");
}

/* begin a flush */
sdt:nfs::nfs_fsync_enter
/target == 0 || pid == target/
{
	self->begin = timestamp;
}

/* book a flush: arg1 is the device of the mount */
sdt:nfs::nfs_fsync_exit
/self->begin != 0/
{
	@flushes[arg1 >> 20, arg1 & 0xfffff] = count();
	@average_flush_ns[arg1 >> 20, arg1 & 0xfffff] = avg(timestamp - self->begin);
	@total_flush_ns[arg1 >> 20, arg1 & 0xfffff] = sum(timestamp - self->begin);
	self->begin = 0;
}

/* begin a WRITE: of a file (arg2) of a mount (arg0), from an offset (arg3) on */
sdt:nfs::nfs_initiate_write
{
	write_begin[arg0, arg2, arg3] = timestamp;
}

/* book a WRITE */
sdt:nfs::nfs_writeback_done
/write_begin[arg0, arg2, arg3] != 0/
{
	this->ns = timestamp - write_begin[arg0, arg2, arg3];
	@writes[arg0 >> 20, arg0 & 0xfffff] = count();
	@average_write_ns[arg0 >> 20, arg0 & 0xfffff] = avg(this->ns);
	@total_write_ns[arg0 >> 20, arg0 & 0xfffff] = sum(this->ns);
	write_begin[arg0, arg2, arg3] = 0;
}

/* begin a COMMIT: of a file (arg2) of a mount (arg0), from an offset (arg3) on */
sdt:nfs::nfs_initiate_commit
{
	commit_begin[arg0, arg2, arg3] = timestamp;
}

/* book a COMMIT */
sdt:nfs::nfs_commit_done
/commit_begin[arg0, arg2, arg3] != 0/
{
	this->ns = timestamp - commit_begin[arg0, arg2, arg3];
	@commits[arg0 >> 20, arg0 & 0xfffff] = count();
	@average_commit_ns[arg0 >> 20, arg0 & 0xfffff] = avg(this->ns);
	@total_commit_ns[arg0 >> 20, arg0 & 0xfffff] = sum(this->ns);
	commit_begin[arg0, arg2, arg3] = 0;
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
	printf("\nflushes:\n");
	printa("  %d:%-6d count %@d, average %@d, total %@d\n", @flushes, @average_flush_ns, @total_flush_ns);
	printf("write_ns:\n");
	printa("  %d:%-6d count %@d, average %@d, total %@d\n", @writes, @average_write_ns, @total_write_ns);
	printf("commit_ns:\n");
	printa("  %d:%-6d count %@d, average %@d, total %@d\n", @commits, @average_commit_ns, @total_commit_ns);
}
