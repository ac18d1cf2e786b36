#!/usr/sbin/dtrace -s
/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * fdlimit.d - Which calls are refused because too many files are open?
 *
 * At the limit no file can be opened and no connection accepted. Many programs hide that: they try again at once,
 * answer late or not at all. EMFILE (24) is the limit of the process, ENFILE (23) that of the host.
 *
 * USAGE
 *   fdlimit.d [PID [SECONDS]]
 *   PID      the process that is traced; without it, or 0: all processes
 *   SECONDS  how long to trace; without it: until Ctrl-C
 *
 * OS
 *   Linux    run: DTrace 2.0.7, Linux 6.12
 *   illumos  untested: its sources have open, open64, so_socket and other calls that make descriptors
 *   FreeBSD  untested: its sources have open, kqueue and other calls that make descriptors
 *   macOS    unknown
 *
 * REQUIRES
 *   DTrace, root; the probes of the system calls that make descriptors, those that the system has.
 *
 * FIELDS
 *   refused  calls that were refused, by thread, its number, errno and the call
 *
 * EXAMPLE
 *   # fdlimit.d 217
 *   Tracing calls that are refused for want of descriptors. Ctrl-C ends.
 *   refused:
 *     fd_leak 217, errno 24, openat: 40
 *
 *   The process asked 40 times for one more descriptor by openat(2), and was refused with EMFILE (24). It opens files
 *   and does not close them, or its limit is too low.
 *
 * OVERHEAD
 *   Attaches in 10 s and takes 102 MiB. Adds 4,275 instructions to each open(2) that is refused, which then executes
 *   3.34 times as many (3.34 to 3.34). Measured with DTrace 2.0.7 in an emulated Linux 6.12.117+deb13-amd64 with 2 CPUs
 *   by make bench ARGS=dtrace.
 *
 * CAVEATS
 *   The limit itself is not shown: see /proc/PID/limits on Linux, plimit(1) on illumos, procstat -l on FreeBSD.
 *   ENFILE is the limit of the host; of pipe(2) on Linux it is also that of its user's pages.
 *   Not seen: descriptors that recvmsg(2) drops, dup2(2) above the limit (EBADF), and calls that are not named here.
 *
 * SEE ALSO
 *   perfdiag-latency(8): FD-EXHAUSTION
 */
#pragma D option quiet
#pragma D option defaultargs
#pragma D option zdefs

inline int target = $1; /* PID: a number */
inline int seconds = $2; /* SECONDS: a number */

/* tell that it traces */
dtrace:::BEGIN
{
	printf("Tracing calls that are refused for want of descriptors. Ctrl-C ends.\n");
}

/* count a call that was refused: 23 is ENFILE, 24 EMFILE, on all systems */
syscall::accept:return,
syscall::accept4:return,
syscall::dup:return,
syscall::dup2:return,
syscall::dup3:return,
syscall::epoll_create1:return,
syscall::eventfd2:return,
syscall::fcntl:return,
syscall::inotify_init1:return,
syscall::kqueue:return,
syscall::memfd_create:return,
syscall::open:return,
syscall::open64:return,
syscall::openat:return,
syscall::pidfd_open:return,
syscall::pipe:return,
syscall::pipe2:return,
syscall::signalfd4:return,
syscall::so_socket:return,
syscall::so_socketpair:return,
syscall::socket:return,
syscall::socketpair:return,
syscall::timerfd_create:return
/(errno == 24 || errno == 23) && (target == 0 || pid == target)/
{
	@refused[execname, tid, errno, probefunc] = count();
}

/* end after so many seconds */
profile:::tick-1s
/seconds > 0 && ++seconds_passed >= seconds/
{
	exit(0);
}

/* print the table under its name */
dtrace:::END
{
	printf("\nrefused:\n");
	printa("  %s %d, errno %d, %s: %@d\n", @refused);
}
