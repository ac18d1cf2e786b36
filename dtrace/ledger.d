#!/usr/sbin/dtrace -s
/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * ledger.d - Where did the time of a process's threads go?
 *
 * A profiler shows what a process does while it runs; a slow one mostly does not run. This books the time of its
 * threads, from the first switch of each: on a CPU, ready but without one, or blocked, by system call.
 *
 * USAGE
 *   ledger.d PID [SECONDS]
 *   PID      the process whose threads are traced
 *   SECONDS  ends after so many seconds; without it: Ctrl-C ends
 *
 * OS
 *   Linux    run: DTrace 2.0.7, Linux 6.12
 *   illumos  none: it needs a tracepoint of Linux
 *   FreeBSD  none: it needs a tracepoint of Linux
 *   macOS    none: it needs a tracepoint of Linux
 *
 * REQUIRES
 *   DTrace for Linux, root; probes sched:::enqueue, on-cpu and off-cpu, sdt:raw_syscalls::sys_enter and sys_exit.
 *
 * FIELDS
 *   on_cpu_ns     sum of time on a CPU, in nanoseconds
 *   run_queue_ns  sum of time in which a thread could run and had no CPU, in nanoseconds
 *   blocked_ns    blocks by number of the system call, -1 outside any (a page fault): how many, mean and sum of their
 *                 lengths in nanoseconds. ausyscall NUMBER names the call
 *
 * EXAMPLE
 *   # ledger.d 204
 *   Tracing the threads of process 204. Ctrl-C ends.
 *   on_cpu_ns: 45845211
 *   run_queue_ns: 10440196
 *   blocked_ns:
 *     74     count 46, average 1776060, total 81698788
 *
 *   The process was blocked for 82 ms in system call 74, fsync(2), and ran for 46 ms. A faster disk would help more
 *   than a faster processor; for a CPU it hardly waited.
 *
 * OVERHEAD
 *   Not measured. Each switch between threads and each system call of the host runs a probe, whatever PID is.
 *
 * CAVEATS
 *   Not closed books: what a thread is in at the start and at the end of the run is in no account.
 *   Not told: what on a CPU was user, kernel or an interrupt; which file, socket or lock a call was blocked on.
 *   A call that had begun before the script did counts as none (-1).
 *
 * SEE ALSO
 *   perfdiag-latency(8): CPU-BOUND CPU-CONTENTION SLO-BREACH
 */
#pragma D option quiet
#pragma D option defaultargs

inline int target = $1; /* PID: a number */
inline int seconds = $2; /* SECONDS: a number */

self uint64_t ran; /* since when it runs */

/* tell that it traces */
dtrace:::BEGIN
{
	printf("Tracing the threads of process %d. Ctrl-C ends.\n", target);
}

/* remember the system call, 0 for none */
sdt:raw_syscalls::sys_enter
/pid == target/
{
	self->call = arg0 + 1;
}

/* forget it */
sdt:raw_syscalls::sys_exit
/pid == target/
{
	self->call = 0;
}

/* book time on a CPU that ends */
sched:::off-cpu
/pid == target && self->ran != 0/
{
	@on_cpu_ns = sum(timestamp - self->ran);
	self->ran = 0;
}

/* begin what comes next: a block, or a wait for a CPU; a thread that has ended leaves its address to another */
sched:::off-cpu
/pid == target && curlwpsinfo->pr_state != SZOMB/
{
	left[(uint64_t)curthread] = timestamp;
	ready[(uint64_t)curthread] = curlwpsinfo->pr_state == SRUN ? timestamp : 0;
}

/* end a block: the thread can run */
sched:::enqueue
/left[arg0] != 0 && ready[arg0] == 0/
{
	ready[arg0] = timestamp;
}

/* book a block */
sched:::on-cpu
/pid == target && ready[(uint64_t)curthread] > left[(uint64_t)curthread]/
{
	this->ns = ready[(uint64_t)curthread] - left[(uint64_t)curthread];
	@blocks[(int64_t)self->call - 1] = count();
	@average_ns[(int64_t)self->call - 1] = avg(this->ns);
	@blocked_ns[(int64_t)self->call - 1] = sum(this->ns);
}

/* book a wait for a CPU */
sched:::on-cpu
/pid == target && ready[(uint64_t)curthread] != 0/
{
	@run_queue_ns = sum(timestamp - ready[(uint64_t)curthread]);
}

/* begin time on a CPU */
sched:::on-cpu
/pid == target/
{
	self->ran = timestamp;
	left[(uint64_t)curthread] = 0;
	ready[(uint64_t)curthread] = 0;
}

/* end after so many seconds */
profile:::tick-1s
/seconds > 0 && ++seconds_passed >= seconds/
{
	exit(0);
}

/* print the accounts, each under its name */
dtrace:::END
{
	printa("\non_cpu_ns: %@d\n", @on_cpu_ns);
	printa("run_queue_ns: %@d\n", @run_queue_ns);
	printf("blocked_ns:\n");
	printa("  %-6d count %@d, average %@d, total %@d\n", @blocks, @average_ns, @blocked_ns);
}
