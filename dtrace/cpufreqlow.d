#!/usr/sbin/dtrace -s
/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * cpufreqlow.d - At which clock rates did threads run, and for how long?
 *
 * A CPU at half its clock takes twice the time for the same work, and no profiler shows it: all functions are slower.
 * A governor that saves power, a limit for heat or power, or a setting that somebody left behind keep it there.
 *
 * USAGE
 *   cpufreqlow.d [PID [SECONDS]]
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
 *   DTrace for Linux, root; a cpufreq driver; probes sdt:power::cpu_frequency and profile:::profile-99.
 *
 * FIELDS
 *   ran_ns  time that threads ran at a clock in kHz, in nanoseconds; at 0 where that has not changed since the start:
 *           read scaling_cur_freq
 *
 * EXAMPLE
 *   # cpufreqlow.d
 *   Tracing clocks. Ctrl-C ends.
 *   ran_ns:
 *     0          80808080
 *     1200000    3161616130
 *     2400000    3181818150
 *
 *   A thread computed for 3 s at 1.2 GHz and then for 3 s at 2.4 GHz: at first it got half as much done. Ask the
 *   governor and the limits why (cpupower frequency-info).
 *
 * OVERHEAD
 *   Attaches in 17 s and takes 102 MiB. Adds 2,144 instructions to each change of a clock to half and back, which then
 *   executes 1.04 times as many (1.04 to 1.04). Measured with DTrace 2.0.7 in an emulated Linux 6.12.117+deb13-amd64
 *   with 2 CPUs by make bench ARGS=dtrace.
 *
 * CAVEATS
 *   The highest clock and, where it does not change, the present one are cpuinfo_max_freq and scaling_cur_freq in
 *   /sys/devices/system/cpu/cpuN/cpufreq: DTrace reads no files.
 *   Looks 99 times a second at each CPU and takes what it sees for all of the time between: 100 looks are good to 10 %.
 *   The clock is the one that the driver requests: limits for heat and power do not show.
 *   If the processor chooses its clock (intel_pstate with HWP, amd_pstate_epp), changes are unknown: all is at 0.
 *
 * SEE ALSO
 *   perfdiag-latency(8): CPU-FREQUENCY-LOW
 */
#pragma D option quiet
#pragma D option defaultargs

inline int target = $1; /* PID: a number */
inline int seconds = $2; /* SECONDS: a number */

uint64_t khz[int]; /* the clock of a CPU */

/* tell that it traces */
dtrace:::BEGIN
{
	printf("Tracing clocks. Ctrl-C ends.\n");
}

/* note the new clock of a CPU */
sdt:power::cpu_frequency
{
	khz[args[1]] = args[0];
}

/* book the time since the last look */
profile:::profile-99
/pid != 0 && (target == 0 || pid == target)/
{
	@ran_ns[khz[cpu]] = sum(1000000000 / 99);
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
	printf("\nran_ns:\n");
	printa("  %-10d %@d\n", @ran_ns);
}
