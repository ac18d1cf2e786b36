#!/usr/sbin/dtrace -s
/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * metaspace.d - Does a Java program collect garbage because of its classes, and which does it load?
 *
 * Classes live in metaspace, in old JVMs in the permanent generation. A program that keeps making classes (by scripts,
 * rules, redeployments) fills it, and each time it is full the whole heap is collected.
 *
 * USAGE
 *   metaspace.d PID [SECONDS]
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
 *   DTrace, root; probes of hotspot in libjvm.so, as in the builds of Debian (readelf -n libjvm.so). Tried with JDK 21
 *   and its serial collector.
 *
 * FIELDS
 *   for_classes      collections for want of room for classes by OPERATION: how many, mean and sum of their lengths in
 *                    nanoseconds
 *   used_bytes       memory in use in bytes at the end of the last collection, by POOL: Metaspace, or Perm Gen. With
 *                    JDK 21 what that collection unloads is still in it
 *   committed_bytes  memory that POOL has then taken from the system, likewise in bytes
 *   loaded           classes loaded, by the first 24 letters of their names
 *   unloaded         classes unloaded, likewise
 *   unseen           collections seen only at their end: one at the start; others were lost
 *
 * EXAMPLE
 *   # metaspace.d 918
 *   Tracing classes of a Java program. Ctrl-C ends.
 *   for_classes:
 *     CollectForMetadataAllocation count 1, average 121172379, total 121172379
 *   used_bytes:
 *     Compressed Class Space   560392
 *     Metaspace                2059304
 *   committed_bytes:
 *     Compressed Class Space   1966080
 *     Metaspace                6684672
 *   loaded:
 *     java/lang/Shutdown       1
 *     java/lang/Shutdown$Lock  1
 *     Classes$Copied           2000
 *   unloaded:
 *     Classes$Copied           2000
 *
 *   The same class was loaded again and again, and the heap was collected for want of room for classes. All of them
 *   could be unloaded: they are made too often, but nothing holds them.
 *
 * OVERHEAD
 *   Attaches in 16 s and takes 108 MiB. Adds 1,250 instructions to each class that is loaded, which then executes 1.01
 *   times as many (1.00 to 1.01). Measured with DTrace 2.0.7 in an emulated Linux 6.12.117+deb13-amd64 with 2 CPUs by
 *   make bench ARGS=dtrace.
 *
 * CAVEATS
 *   Only collections that stop all threads are seen as such: ZGC and Shenandoah make room for classes beside them.
 *   Near -XX:MaxMetaspaceSize what is committed counts, and it can be far more than what is used.
 *   Classes of a shared archive count as loaded.
 *   The permanent generation, of JDK 7 and older, is untested.
 *
 * SEE ALSO
 *   perfdiag-latency(8): CPU-BOUND WAIT-THREAD-IN-REQUEST
 */
#pragma D option quiet
#pragma D option defaultargs

inline int target = $1; /* PID: a number */
inline int seconds = $2; /* SECONDS: a number */

int64_t used_bytes[string]; /* of a pool after the last collection */
int64_t committed_bytes[string];

/* tell that it traces */
dtrace:::BEGIN
{
	printf("Tracing classes of a Java program. Ctrl-C ends.\n");
}

/* begin a collection: CollectForMetadataAllocation; of old JVMs, CollectForPermanentAllocation */
hotspot$1:::vmops-begin
/substr(copyinstr(arg0), 0, 10) == "CollectFor"/
{
	self->begin = timestamp;
}

/* count a collection whose beginning was not seen */
hotspot$1:::vmops-end
/self->begin == 0 && substr(copyinstr(arg0), 0, 10) == "CollectFor"/
{
	@unseen = count();
}

/* book a collection */
hotspot$1:::vmops-end
/self->begin != 0/
{
	this->operation = copyinstr(arg0);
	@collections[this->operation] = count();
	@average_ns[this->operation] = avg(timestamp - self->begin);
	@total_ns[this->operation] = sum(timestamp - self->begin);
	self->begin = 0;
}

/* take the name of a pool after a collection */
hotspot$1:::mem-pool-gc-end
{
	self->pool = copyinstr(arg2, arg3 + 1);
}

/* note how full a pool for classes is: what is summed up is how much more than the last time */
hotspot$1:::mem-pool-gc-end
/self->pool == "Metaspace" || self->pool == "Compressed Class Space" || strstr(self->pool, "Perm Gen") != NULL/
{
	@used_bytes[self->pool] = sum((int64_t)arg5 - used_bytes[self->pool]);
	@committed_bytes[self->pool] = sum((int64_t)arg6 - committed_bytes[self->pool]);
	used_bytes[self->pool] = (int64_t)arg5;
	committed_bytes[self->pool] = (int64_t)arg6;
}

/* forget the name */
hotspot$1:::mem-pool-gc-end
{
	self->pool = 0;
}

/* count a class that is loaded: its name has no end but its length */
hotspot$1:::class-loaded
{
	@loaded[copyinstr(arg0, arg1 < 24 ? arg1 + 1 : 25)] = count();
}

/* count a class that is unloaded */
hotspot$1:::class-unloaded
{
	@unloaded[copyinstr(arg0, arg1 < 24 ? arg1 + 1 : 25)] = count();
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
	printf("\nfor_classes:\n");
	printa("  %-28s count %@d, average %@d, total %@d\n", @collections, @average_ns, @total_ns);
	printf("used_bytes:\n");
	printa("  %-24s %@d\n", @used_bytes);
	printf("committed_bytes:\n");
	printa("  %-24s %@d\n", @committed_bytes);
	printf("loaded:\n");
	printa("  %-24s %@d\n", @loaded);
	printf("unloaded:\n");
	printa("  %-24s %@d\n", @unloaded);
	printa("unseen: %@d\n", @unseen);
}
