#!/usr/sbin/dtrace -s
/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * throttled.d - How long does a CPU quota that is used up keep threads from running?
 *
 * A control group with a quota (cpu.max, limits of a container) may use so much CPU time in each period, 100 ms as a
 * rule. When it is used up, its threads stop until the next period, even if CPUs are idle: requests take tens of
 * milliseconds longer, and load looks low.
 *
 * USAGE
 *   throttled.d [PID [SECONDS]]
 *   PID      the process whose threads are traced; without it, or 0: all threads
 *   SECONDS  how long to trace; without it: until Ctrl-C
 *
 * OS
 *   Linux    run: DTrace 2.0.7, Linux 6.12
 *   illumos  none: it needs tracepoints of Linux
 *   FreeBSD  none: it needs tracepoints of Linux
 *   macOS    none: it needs tracepoints of Linux
 *
 * REQUIRES
 *   DTrace for Linux, root; probes rawtp:sched::sched_waking, sched:::off-cpu and on-cpu, and fbt of tg_throttle_down
 *   and tg_unthrottle_up, as no tracepoint reports quotas.
 *
 * FIELDS
 *   throttled     waits for a CPU in which the quota of GROUP, the last part of its path, or of a group above it was
 *                 used up: how many, mean and sum of the nanoseconds that it was
 *   throttled_ns  the same by length, in nanoseconds: a row holds those from its value to the next one
 *   groups        how often a CPU was taken from a group of the host, one with a quota or one below such a group, by
 *                 CPU
 *
 * EXAMPLE
 *   # throttled.d 1160
 *   Tracing CPU quotas. Ctrl-C ends.
 *   throttled:
 *     quota-3          count 30, average 79449881, total 2383496453
 *   throttled_ns:
 *              value  ------------- Distribution ------------- count
 *           33554432 |                                         0
 *           67108864 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ 30
 *          134217728 |                                         0
 *   groups:
 *     0      30
 *
 *   A thread may compute for 20 ms of each 100 ms, and wants to all the time: it stood still 80 ms of each. As
 *   throttled has its group, there is the quota to be raised; few long waits mean bursts, which a longer period serves.
 *
 * OVERHEAD
 *   Attaches in 18 s and takes 102 MiB. Adds 44,570 instructions to each round trip between two processes on a CPU,
 *   which then executes 4.80 times as many (4.79 to 4.81). Measured with DTrace 2.0.7 in an emulated Linux
 *   6.12.117+deb13-amd64 with 2 CPUs by make bench ARGS=dtrace.
 *
 * CAVEATS
 *   Four threads that are stopped for 80 ms count as 320 ms. cpu.stat of the group counts CPUs, not threads.
 *   Of a wait through several periods only the last counts. A thread that changes CPUs while it waits is missed.
 *   After a quota is renewed a thread may wait for a CPU once more: that is not in it, but in runqlat.d.
 *
 * SEE ALSO
 *   perfdiag-latency(8): CPU-QUOTA-THROTTLED
 */
#pragma D option quiet
#pragma D option defaultargs

inline int target = $1; /* PID: a number */
inline int seconds = $2; /* SECONDS: a number */

/* tell that it traces */
dtrace:::BEGIN
{
	printf("Tracing CPU quotas. Ctrl-C ends.\n");
}

/* note that a group has to leave a CPU */
fbt::tg_throttle_down:entry
{
	began[arg0, ((struct rq *)arg1)->cpu] = timestamp;
	@groups[((struct rq *)arg1)->cpu] = count();
}

/* note that it may come back */
fbt::tg_unthrottle_up:entry
{
	ended[arg0, ((struct rq *)arg1)->cpu] = timestamp;
}

/* begin a wait: a thread is woken */
rawtp:sched::sched_waking
{
	since[arg0] = timestamp;
}

/* begin a wait: a thread that could go on has to leave */
sched:::off-cpu
/pid != 0 && curlwpsinfo->pr_state == SRUN/
{
	since[(uint64_t)curthread] = timestamp;
}

/* see since when the last quota that was used up held a thread that waited */
sched:::on-cpu
/pid != 0 && (target == 0 || pid == target) && since[(uint64_t)curthread] != 0/
{
	self->group = (uint64_t)curthread->sched_task_group;
	self->from = began[self->group, cpu] > since[(uint64_t)curthread] ? began[self->group, cpu] :
	    since[(uint64_t)curthread];
}

/* book a wait */
sched:::on-cpu
/self->from != 0 && began[self->group, cpu] != 0 && self->from < ended[self->group, cpu]/
{
	this->ns = ended[self->group, cpu] - self->from;
	this->name = stringof(curthread->sched_task_group->css.cgroup->kn->name);
	@throttled[this->name] = count();
	@average_ns[this->name] = avg(this->ns);
	@total_ns[this->name] = sum(this->ns);
	@throttled_ns = quantize(this->ns);
}

/* forget a wait that is over */
sched:::on-cpu
{
	since[(uint64_t)curthread] = 0;
	self->group = 0;
	self->from = 0;
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
	printf("\nthrottled:\n");
	printa("  %-16s count %@d, average %@d, total %@d\n", @throttled, @average_ns, @total_ns);
	printa("throttled_ns:%@d", @throttled_ns);
	printf("groups:\n");
	printa("  %-6d %@d\n", @groups);
}
