#!/usr/sbin/dtrace -s
/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * runqlat.d - How long do threads wait for a CPU, and which threads have it meanwhile?
 *
 * A thread that can run waits while others have the CPUs, while its quota is used up, or while an idle CPU wakes. No
 * profiler shows that time: the thread does nothing. Long waits mean too few CPUs, a quota or a busy process.
 *
 * USAGE
 *   runqlat.d [PID [SECONDS]]
 *   PID      the process whose threads are traced; without it, or 0: all processes
 *   SECONDS  how long to trace; without it: until Ctrl-C
 *
 * OS
 *   Linux    run: DTrace 2.0.7, Linux 6.12
 *   illumos  untested: its sources have the probes
 *   FreeBSD  untested: its sources have the probes; needs -L lib
 *   macOS    unknown
 *
 * REQUIRES
 *   DTrace, root; probes sched:::enqueue, on-cpu and off-cpu.
 *
 * FIELDS
 *   wait_ns     waits by length, in nanoseconds: a row holds those from its value to the next one
 *   waits       waits: how many, mean and sum of their lengths in nanoseconds
 *   longest_ns  the longest wait, in nanoseconds
 *   behind_ns   sum of waits in nanoseconds, by the thread that ran last on the CPU that was waited for
 *   unseen      waits seen only at their end: one of each thread at the start; others were lost
 *
 * EXAMPLE
 *   # runqlat.d 197
 *   Tracing waits for a CPU. Ctrl-C ends.
 *   wait_ns:
 *              value  ------------- Distribution ------------- count
 *              16384 |                                         0
 *              32768 |                                         1
 *              65536 |                                         3
 *             131072 |@                                        6
 *             262144 |                                         0
 *             524288 |                                         1
 *            1048576 |                                         2
 *            2097152 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@           343
 *            4194304 |@@@@@@@                                  74
 *            8388608 |@@                                       19
 *           16777216 |                                         1
 *           33554432 |                                         0
 *   waits: count 450, average 4496783, total 2023552416
 *   longest_ns: 17015039
 *   behind_ns:
 *     kworker/0:1      85717
 *     swapper/0        137113
 *     swapper/1        597265
 *     rcu_tasks_kthre  6103262
 *     kworker/1:1      12025437
 *     rcu_preempt      66422770
 *     spin             1938180852
 *
 *   Two threads share a CPU for two seconds: together they wait for it as long as one of them runs, mostly behind each
 *   other (spin) and for a time slice. Waits of many slices, or behind another program, would mean a quota or a
 *   busy process.
 *
 * OVERHEAD
 *   Attaches in 14 s and takes 101 MiB. Adds 63,188 instructions to each round trip between two processes on a CPU,
 *   which then executes 6.42 times as many (6.40 to 6.43). Measured with DTrace 2.0.7 in an emulated Linux
 *   6.12.117+deb13-amd64 with 2 CPUs by make bench ARGS=dtrace.
 *
 * CAVEATS
 *   Threads of process 0 are left out: the idle ones, on illumos those of the kernel, too.
 *   It begins at the wake-up: time in which an idle CPU leaves its idle state counts, and so does a quota.
 *   Only the last of those who ran meanwhile is named: behind swapper (Linux), sched (illumos) the CPU was idle.
 *
 * SEE ALSO
 *   perfdiag-latency(8): CPU-CONTENTION CPU-OVERSUBSCRIBED CPU-QUOTA-THROTTLED CPU-IDLE-EXIT-LATENCY
 */
#pragma D option quiet
#pragma D option defaultargs

inline int target = $1; /* PID: a number */
inline int seconds = $2; /* SECONDS: a number */

/* tell that it traces */
dtrace:::BEGIN
{
	printf("Tracing waits for a CPU. Ctrl-C ends.\n");
}

/* begin a wait: a thread was woken, or is new */
sched:::enqueue
{
	since[arg0] = timestamp;
}

/* remember who had the CPU */
sched:::off-cpu
{
	last[cpu] = execname;
}

/* begin a wait: a thread that could go on has to leave */
sched:::off-cpu
/pid != 0 && curlwpsinfo->pr_state == SRUN/
{
	since[(uint64_t)curthread] = timestamp;
}

/* count a wait whose beginning was not seen */
sched:::on-cpu
/pid != 0 && (target == 0 || pid == target) && since[(uint64_t)curthread] == 0/
{
	@unseen = count();
}

/* book a wait: its thread runs again */
sched:::on-cpu
/pid != 0 && (target == 0 || pid == target) && since[(uint64_t)curthread] != 0/
{
	this->wait_ns = timestamp - since[(uint64_t)curthread];
	@wait_ns = quantize(this->wait_ns);
	@waits = count();
	@average_ns = avg(this->wait_ns);
	@total_ns = sum(this->wait_ns);
	@longest_ns = max(this->wait_ns);
	@behind_ns[last[cpu]] = sum(this->wait_ns);
}

/* forget a wait that is over */
sched:::on-cpu
{
	since[(uint64_t)curthread] = 0;
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
	printa("wait_ns:%@d", @wait_ns);
	printa("waits: count %@d, average %@d, total %@d\n", @waits, @average_ns, @total_ns);
	printa("longest_ns: %@d\n", @longest_ns);
	printf("behind_ns:\n");
	printa("  %-16s %@d\n", @behind_ns);
	printa("unseen: %@d\n", @unseen);
}
