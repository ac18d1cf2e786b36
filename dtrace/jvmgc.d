#!/usr/sbin/dtrace -s
/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * jvmgc.d - How long is a Java program stopped, for which operations, and how long do collections take?
 *
 * While a Java virtual machine stops its threads no request is answered. Most stops are collections, but not all; and
 * much of a collection may pass beside threads that run. The operation of a stop tells what it was for.
 *
 * USAGE
 *   jvmgc.d PID [SECONDS]
 *   PID      the Java program that is traced: also as dtrace -p PID
 *   SECONDS  how long to trace; without it: until Ctrl-C
 *
 * OS
 *   Linux    run: DTrace 2.0.7, Linux 6.12
 *   illumos  unknown
 *   FreeBSD  unknown
 *   macOS    unknown
 *
 * REQUIRES
 *   DTrace, root; probes of hotspot and hs_private in libjvm.so, as in the builds of Debian (readelf -n libjvm.so).
 *
 * FIELDS
 *   stop_ns      stops of all threads by length, in nanoseconds: a row holds those from its value to the next one
 *   stops        stops by OPERATION: how many, mean and sum of their lengths in nanoseconds
 *   longest_ns   the longest stop, in nanoseconds
 *   collections  collections by KIND (full or part): how many, mean and sum of their lengths in nanoseconds
 *   unseen       stops seen only at their end: one at the start; others were lost
 *
 * EXAMPLE
 *   # jvmgc.d 220
 *   Tracing stops and collections of a Java program. Ctrl-C ends.
 *   stop_ns:
 *              value  ------------- Distribution ------------- count
 *            1048576 |                                         0
 *            2097152 |@@@@@                                    1
 *            4194304 |                                         0
 *            8388608 |                                         0
 *           16777216 |                                         0
 *           33554432 |                                         0
 *           67108864 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@           6
 *          134217728 |@@@@@                                    1
 *          268435456 |                                         0
 *   stops:
 *     Cleanup                  count 1, average 4008830, total 4008830
 *     GenCollectFull           count 7, average 112465518, total 787258631
 *   longest_ns: 256530968
 *   collections:
 *     full                     count 7, average 106790858, total 747536010
 *
 *   Seven times all threads stopped for a full collection, which System.gc() had asked for. The collections take nearly
 *   all of the time of their stops.
 *
 * OVERHEAD
 *   Attaches in 12 s and takes 108 MiB. Adds 22,446 instructions to each stop of all threads of a Java program, which
 *   then executes 1.57 times as many (1.56 to 1.58). Measured with DTrace 2.0.7 in an emulated Linux
 *   6.12.117+deb13-amd64 with 2 CPUs by make bench ARGS=dtrace.
 *
 * CAVEATS
 *   An OPERATION is not a cause: a full collection by System.gc() and one for lack of memory can look alike.
 *   Of a collector that works beside the program (ZGC, Shenandoah) only what stops it is seen.
 *   Handshakes, which stop one thread, are not seen.
 *
 * SEE ALSO
 *   perfdiag-latency(8): CPU-BOUND WAIT-THREAD-IN-REQUEST
 */
#pragma D option quiet
#pragma D option defaultargs

inline int target = $1; /* PID: a number */
inline int seconds = $2; /* SECONDS: a number */

/* tell that it traces */
dtrace:::BEGIN
{
	printf("Tracing stops and collections of a Java program. Ctrl-C ends.\n");
}

/* begin a stop */
hs_private$1:::safepoint-begin
{
	self->asked = timestamp;
}

/* take the name of the first operation of a stop */
hotspot$1:::vmops-begin
/self->asked != 0 && self->named == 0/
{
	self->operation = copyinstr(arg0);
	self->named = 1;
}

/* count a stop whose beginning was not seen */
hs_private$1:::safepoint-end
/self->asked == 0/
{
	@unseen = count();
}

/* book a stop */
hs_private$1:::safepoint-end
/self->asked != 0/
{
	this->ns = timestamp - self->asked;
	@stop_ns = quantize(this->ns);
	@stops[self->operation] = count();
	@average_ns[self->operation] = avg(this->ns);
	@total_ns[self->operation] = sum(this->ns);
	@longest_ns = max(this->ns);
	self->asked = 0;
	self->named = 0;
	self->operation = 0;
}

/* begin a collection */
hotspot$1:::gc-begin
{
	self->begin = timestamp;
	self->full = arg0;
}

/* book a collection */
hotspot$1:::gc-end
/self->begin != 0/
{
	this->ns = timestamp - self->begin;
	this->kind = self->full ? "full" : "part";
	@collections[this->kind] = count();
	@average_gc_ns[this->kind] = avg(this->ns);
	@total_gc_ns[this->kind] = sum(this->ns);
	self->begin = 0;
	self->full = 0;
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
	printa("stop_ns:%@d", @stop_ns);
	printf("stops:\n");
	printa("  %-24s count %@d, average %@d, total %@d\n", @stops, @average_ns, @total_ns);
	printa("longest_ns: %@d\n", @longest_ns);
	printf("collections:\n");
	printa("  %-24s count %@d, average %@d, total %@d\n", @collections, @average_gc_ns, @total_gc_ns);
	printa("unseen: %@d\n", @unseen);
}
