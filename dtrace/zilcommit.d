#!/usr/sbin/dtrace -s
/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * zilcommit.d - How long do synchronous writes wait for the ZFS intent log, and which processes make them?
 *
 * What a program writes with O_SYNC or flushes with fsync(2) ZFS puts into its intent log first, and lets the program
 * wait. Slow commits are a slow log device, or none; many are a program or an NFS client that commits too often.
 *
 * USAGE
 *   zilcommit.d [PID [SECONDS]]
 *   PID      the process that is traced, as an NFS server; without it, or 0: all processes
 *   SECONDS  how long to trace; without it: until Ctrl-C
 *
 * OS
 *   Linux    none: the lab has no ZFS
 *   illumos  untested: its sources have the function zil_commit
 *   FreeBSD  untested: its sources have the function zil_commit
 *   macOS    unknown
 *
 * REQUIRES
 *   DTrace, root; ZFS: probes fbt:zfs:zil_commit:entry and return, which are no stable interface.
 *
 * FIELDS
 *   commit_ns   commits by length, in nanoseconds: a row holds those from its value to the next one
 *   commits     commits by COMM: how many, mean and sum of their lengths in nanoseconds
 *   longest_ns  the longest commit, in nanoseconds
 *
 * EXAMPLE
 *   # zilcommit.d
 *
 *   Not run.
 *
 * OVERHEAD
 *   Not measured.
 *
 * CAVEATS
 *   Never run: it was written from the sources of illumos and OpenZFS.
 *   A commit with nothing to write returns at once and counts. With sync=disabled they all do.
 *   It waits with others for the same log block: their sum is longer than the device was busy. The pool is not named.
 *   COMM is who waited: in a zone or jail too, for NFS the server.
 *
 * SEE ALSO
 *   perfdiag-latency(8): DISK-FLUSH-SLOW NFS-COMMIT-SLOW
 */
#pragma D option quiet
#pragma D option defaultargs

inline int target = $1; /* PID: a number */
inline int seconds = $2; /* SECONDS: a number */

/* tell that it traces */
dtrace:::BEGIN
{
	printf("Tracing commits of the ZFS intent log. Ctrl-C ends.\n");
}

/* begin a commit */
fbt:zfs:zil_commit:entry
/target == 0 || pid == target/
{
	self->begin = timestamp;
}

/* book a commit */
fbt:zfs:zil_commit:return
/self->begin != 0/
{
	this->ns = timestamp - self->begin;
	@commit_ns = quantize(this->ns);
	@commits[execname] = count();
	@average_ns[execname] = avg(this->ns);
	@total_ns[execname] = sum(this->ns);
	@longest_ns = max(this->ns);
	self->begin = 0;
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
	printa("commit_ns:%@d", @commit_ns);
	printf("commits:\n");
	printa("  %-16s count %@d, average %@d, total %@d\n", @commits, @average_ns, @total_ns);
	printa("longest_ns: %@d\n", @longest_ns);
}
