#!/usr/sbin/dtrace -s
/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * cstate.d - Which idle states do CPUs enter, and how long do threads wait for a CPU to leave them?
 *
 * A CPU without work enters an idle state. The deeper it is, the more power it saves and the longer the CPU needs to
 * come back: 1 us from shallow ones, 100 us and more from deep ones. A thread that is woken pays that before its first
 * step.
 *
 * USAGE
 *   cstate.d [PID [SECONDS]]
 *   PID      the process whose wake-ups are traced; without it, or 0: those of all threads
 *   SECONDS  how long to trace; without it: until Ctrl-C
 *
 * OS
 *   Linux    run: DTrace 2.0.7, Linux 6.12
 *   illumos  none: it needs tracepoints of Linux
 *   FreeBSD  none: it needs tracepoints of Linux
 *   macOS    none: it needs tracepoints of Linux
 *
 * REQUIRES
 *   DTrace for Linux, root; a cpuidle driver; probes sdt:power::cpu_idle, rawtp:sched::sched_waking and sched:::on-cpu.
 *
 * FIELDS
 *   sleeps   stays of all CPUs in STATE: how many, mean and sum of their lengths in nanoseconds
 *   wakeups  wake-ups of a thread for which an idle CPU left STATE, by WHEN: how many, mean and sum of the nanoseconds
 *            until the thread ran. WHEN is asleep where the CPU slept when the thread was woken; left where its own
 *            interrupt had ended the sleep just before and then woke the thread, so that leaving the state is not in
 *            the time
 *   unseen   threads that an idle CPU took on without a wake-up: moved to it, or woken before the start
 *
 * EXAMPLE
 *   # cstate.d 967
 *   Tracing idle states. Ctrl-C ends.
 *   sleeps:
 *     3      count 916, average 2209339, total 2023755117
 *   wakeups:
 *     3 left   count 2, average 69683, total 139367
 *     3 asleep count 404, average 200930, total 81175914
 *
 *   All states but one were forbidden. It declares 800 us to leave, and the wake-ups that found the CPU in it took
 *   less: this firmware tells no truth. Where they take as long as declared, forbid the deep states (cpupower
 *   idle-set).
 *
 * OVERHEAD
 *   Attaches in 10 s and takes 101 MiB. Adds 84,478 instructions to each wake-up of an idle CPU, which then executes
 *   8.51 times as many (8.01 to 9.01). Measured with DTrace 2.0.7 in an emulated Linux 6.12.117+deb13-amd64 with 2 CPUs
 *   by make bench ARGS=dtrace.
 *
 * CAVEATS
 *   STATE is a number: its name and the microseconds that it is declared to take are name and latency in
 *   /sys/devices/system/cpu/cpu0/cpuidle/stateN.
 *   A wake-up is more than leaving a state: interrupt, idle loop and switch.
 *   The processor may choose a shallower state than it was asked for; in a virtual machine the host does.
 *   Wake-ups that found their CPU awake are not here: runqlat.d counts all.
 *
 * SEE ALSO
 *   perfdiag-latency(8): CPU-IDLE-EXIT-LATENCY
 */
#pragma D option quiet
#pragma D option defaultargs

inline int target = $1; /* PID: a number */
inline int seconds = $2; /* SECONDS: a number */

uint64_t since[int]; /* a CPU sleeps */
uint64_t left[int]; /* when it last left a state, until it has run a thread */
int64_t state[int]; /* that state */

/* tell that it traces */
dtrace:::BEGIN
{
	printf("Tracing idle states. Ctrl-C ends.\n");
}

/* begin a sleep: -1 is its end */
sdt:power::cpu_idle
/args[0] != 0xffffffff/
{
	since[cpu] = timestamp;
	state[cpu] = args[0];
	left[cpu] = 0;
}

/* book a sleep */
sdt:power::cpu_idle
/args[0] == 0xffffffff && since[cpu] != 0/
{
	@sleeps[state[cpu]] = count();
	@average_sleep_ns[state[cpu]] = avg(timestamp - since[cpu]);
	@total_sleep_ns[state[cpu]] = sum(timestamp - since[cpu]);
	left[cpu] = timestamp;
}

/* begin a wake-up */
rawtp:sched::sched_waking
{
	woken[arg0] = timestamp;
}

/* count a thread that was not woken for an idle CPU */
sched:::on-cpu
/pid != 0 && (target == 0 || pid == target) && left[cpu] != 0 && woken[(uint64_t)curthread] == 0/
{
	@unseen = count();
}

/* book a wake-up: its thread is the first one that the CPU runs */
sched:::on-cpu
/pid != 0 && (target == 0 || pid == target) && left[cpu] != 0 && woken[(uint64_t)curthread] != 0/
{
	this->ns = timestamp - woken[(uint64_t)curthread];
	this->when = left[cpu] < woken[(uint64_t)curthread] ? "left" : "asleep";
	@wakeups[state[cpu], this->when] = count();
	@average_ns[state[cpu], this->when] = avg(this->ns);
	@total_ns[state[cpu], this->when] = sum(this->ns);
}

/* forget a wake-up that is over */
sched:::on-cpu
/pid != 0/
{
	left[cpu] = 0;
	woken[(uint64_t)curthread] = 0;
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
	printf("\nsleeps:\n");
	printa("  %-6d count %@d, average %@d, total %@d\n", @sleeps, @average_sleep_ns, @total_sleep_ns);
	printf("wakeups:\n");
	printa("  %d %-6s count %@d, average %@d, total %@d\n", @wakeups, @average_ns, @total_ns);
	printa("unseen: %@d\n", @unseen);
}
