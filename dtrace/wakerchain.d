#!/usr/sbin/dtrace -s
/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * wakerchain.d - Which threads wake sleeping threads, and which threads woke those before?
 *
 * A thread that waits is woken by what it waits for: a peer, the holder of a lock, a device, a timer. What
 * the waker itself waited for before is often the cause. Two links are followed; the sum of sleeps shows which matter.
 *
 * USAGE
 *   wakerchain.d [PID [SECONDS]]
 *   PID      the process whose threads are traced; without it, or 0: all processes
 *   SECONDS  how long to trace; without it: until Ctrl-C
 *
 * OS
 *   Linux    run: DTrace 2.0.7, Linux 6.12
 *   illumos  untested: its documentation has sched:::wakeup, the others are for Linux
 *   FreeBSD  none: its DTrace does not tell whether a thread that leaves a CPU sleeps
 *   macOS    unknown
 *
 * REQUIRES
 *   DTrace, root; probes sched:::wakeup, on-cpu and off-cpu; on Linux also rawtp:sched::sched_waking.
 *
 * FIELDS
 *   slept_ns  sleeps by THREAD, WAKER and BEFORE: how many, mean and sum of their lengths in nanoseconds,
 *             from the thread's leaving the CPU to its wake-up. WAKER ended them; BEFORE had woken WAKER last
 *
 * EXAMPLE
 *   # wakerchain.d 624
 *   Tracing wake-ups. Ctrl-C ends.
 *   slept_ns: THREAD, WAKER, BEFORE
 *     chain            chain            chain            count 25, average 22313685, total 557842133
 *
 *   Three processes of one name: the first one sleeps until the second one wakes it, which the third one had woken
 *   before. So what it waits for are the 20 ms that the third one sleeps, 23 times, and the end of both.
 *
 * OVERHEAD
 *   Attaches in 13 s and takes 101 MiB. Adds 128,124 instructions to each round trip between two processes on a CPU,
 *   which then executes 11.99 times as many (11.92 to 12.06). Measured with DTrace 2.0.7 in an emulated Linux
 *   6.12.117+deb13-amd64 with 2 CPUs by make bench ARGS=dtrace.
 *
 * CAVEATS
 *   BEFORE woke WAKER last, perhaps for something else, long before. Empty: nobody that was seen.
 *   A device or a timer wakes inside an interrupt: WAKER is the thread that it interrupted, swapper on an idle CPU.
 *   The sleep that a thread is in at the start is not counted. Time from the wake-up until it runs is runqlat.d's.
 *
 * SEE ALSO
 *   perfdiag-latency(8): IPC-PEER-SLOW LOCK-CONTENTION WAIT-THREAD-IN-REQUEST WAIT-TIMER-IN-REQUEST
 */
#pragma D option quiet
#pragma D option defaultargs
#pragma D option zdefs
#pragma D option dynvarsize=4m

inline int target = $1; /* PID: a number */
inline int seconds = $2; /* SECONDS: a number */

string waker[uint64_t]; /* of a thread: who woke it last */

/* tell that it traces */
dtrace:::BEGIN
{
	printf("Tracing wake-ups. Ctrl-C ends.\n");
}

/* begin a sleep: a thread that cannot go on leaves the CPU; one that has ended leaves its address to another */
sched:::off-cpu
/pid != 0 && (target == 0 || pid == target) && curlwpsinfo->pr_state != SRUN && curlwpsinfo->pr_state != SZOMB/
{
	asleep[(uint64_t)curthread] = timestamp;
}

/* end a sleep; on Linux sched:::wakeup comes later, on the CPU of the thread that is woken, and finds nothing to do */
rawtp:sched::sched_waking,
sched:::wakeup
/asleep[arg0] != 0/
{
	slept_ns[arg0] = timestamp - asleep[arg0];
	asleep[arg0] = 0;
}

/* remember who woke whom */
rawtp:sched::sched_waking
{
	has_waking = 1;
	before[arg0] = waker[(uint64_t)curthread];
	waker[arg0] = execname;
}

/* remember it on systems without that tracepoint */
sched:::wakeup
/!has_waking/
{
	before[arg0] = waker[(uint64_t)curthread];
	waker[arg0] = execname;
}

/* book a sleep: its thread runs again */
sched:::on-cpu
/slept_ns[(uint64_t)curthread] != 0/
{
	this->slept_ns = slept_ns[(uint64_t)curthread];
	this->waker = waker[(uint64_t)curthread] != NULL ? waker[(uint64_t)curthread] : "";
	this->before = before[(uint64_t)curthread] != NULL ? before[(uint64_t)curthread] : "";
	@sleeps[execname, this->waker, this->before] = count();
	@average_ns[execname, this->waker, this->before] = avg(this->slept_ns);
	@total_ns[execname, this->waker, this->before] = sum(this->slept_ns);
	slept_ns[(uint64_t)curthread] = 0;
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
	printf("\nslept_ns: THREAD, WAKER, BEFORE\n");
	printa("  %-16s %-16s %-16s count %@d, average %@d, total %@d\n", @sleeps, @average_ns, @total_ns);
}
