#!/usr/sbin/dtrace -s
/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * oomwhy.d - Which process did the OOM killer kill, which one asked for memory, at which limit?
 *
 * When no memory can be reclaimed, the kernel kills a process to get its memory, mostly not the process that
 * asked. The limit says what to do: that of a control group is a setting, that of the host is its memory.
 *
 * USAGE
 *   oomwhy.d [PID [SECONDS]]
 *   PID      the process that is killed, or that asks; without it, or 0: all of the host
 *   SECONDS  how long to trace; without it: until Ctrl-C
 *
 * OS
 *   Linux    run: DTrace 2.0.7, Linux 6.12
 *   illumos  none: it needs tracepoints of Linux
 *   FreeBSD  none: it needs tracepoints of Linux
 *   macOS    none: it needs tracepoints of Linux
 *
 * REQUIRES
 *   DTrace for Linux, root; probes sdt:oom::mark_victim, and fbt of out_of_memory, as no tracepoint tells the limit.
 *
 * FIELDS
 *   killed  processes that were killed by LIMIT and GROUP. LIMIT is group: the memory limit of the control group
 *           GROUP, of which the last part of the path is given; host: all memory; nodes: that of the NUMA nodes that
 *           were allowed; sysrq: somebody pressed a key; unknown: asked before the start
 *
 * EXAMPLE
 *   # oomwhy.d 630
 *   Tracing the OOM killer. Ctrl-C ends.
 *   48.905 killed: 630 devour, asked by: 630 devour, for 1 page(s), limit: group tight
 *   killed:
 *     group tight: 1
 *
 *   A process of the control group tight asked for one page more than memory.max allows, and was itself chosen: raise
 *   the limit, or find what it keeps. With limit: host, who asked tells nothing: look who holds the memory.
 *
 * OVERHEAD
 *   Attaches in 10 s and takes 101 MiB. Adds at most 3 % to each kill by the OOM killer, which is lost in the noise:
 *   that then executes 0.97 to 1.02 times as many instructions. Measured with DTrace 2.0.7 in an emulated Linux
 *   6.12.117+deb13-amd64 with 2 CPUs by make bench ARGS=dtrace.
 *
 * CAVEATS
 *   The kernel also marks a process that was already exiting, and then kills none.
 *   If a whole group is killed (memory.oom.group), only the process that was chosen is named.
 *   A line begins with the seconds since the host started. The kernel log (dmesg) says what memory was used for.
 *
 * SEE ALSO
 *   perfdiag-latency(8): OOM-KILL MEM-CGROUP-LIMIT
 */
#pragma D option quiet
#pragma D option defaultargs

inline int target = $1; /* PID: a number */
inline int seconds = $2; /* SECONDS: a number */

/* tell that it traces */
dtrace:::BEGIN
{
	printf("Tracing the OOM killer. Ctrl-C ends.\n");
}

/* remember what is asked for */
fbt::out_of_memory:entry
{
	self->asked = (struct oom_control *)arg0;
}

/* tell the limit where it is not that of a control group */
sdt:oom::mark_victim
/target == 0 || pid == target || args[0] == target/
{
	self->limit = self->asked == NULL ? "unknown" : self->asked->order == -1 ? "sysrq" :
	    self->asked->nodemask != NULL ? "nodes" : "host";
	self->group = "";
}

/* tell the control group whose limit it is; -1 is a key */
sdt:oom::mark_victim
/self->limit != NULL && self->asked != NULL && self->asked->memcg != NULL && self->asked->order != -1/
{
	self->limit = "group";
	self->group = stringof(self->asked->memcg->css.cgroup->kn->name);
}

/* name the process that is killed */
sdt:oom::mark_victim
/self->limit != NULL/
{
	printf("%d.%03d killed: %d %s, ", timestamp / 1000000000, timestamp / 1000000 % 1000, args[0],
	    self->asked != NULL && self->asked->chosen->pid == args[0] ? stringof(self->asked->chosen->comm) : "");
	printf("asked by: %d %s, for %d page(s), limit: %s %s\n", pid, execname,
	    self->asked != NULL && self->asked->order > 0 ? 1 << self->asked->order : 1, self->limit, self->group);
	@killed[self->limit, self->group] = count();
	self->limit = 0;
	self->group = 0;
}

/* forget what was asked for */
fbt::out_of_memory:return
{
	self->asked = 0;
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
	printf("\nkilled:\n");
	printa("  %s %s: %@d\n", @killed);
}
