#!/usr/sbin/dtrace -s
/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * ledger.d - Where did the time of a process's threads go?
 *
 * Prints a recording, which perfdiag report reads on any other machine. Every nanosecond of each thread counts in
 * one account: on a CPU, waiting for one, or asleep for a reason. perfdiag's own recorder sees more. What this script
 * cannot tell apart stands under NOT MEASURED.
 *
 * USAGE
 *   ledger.d PID [SECONDS]
 *   PID      the process whose threads are recorded
 *   SECONDS  how long to trace; without it: until Ctrl-C
 *
 * OS
 *   Linux    run: DTrace 2.0.7, Linux 6.12
 *   illumos  none: it needs tracepoints of Linux
 *   FreeBSD  none: it needs tracepoints of Linux
 *   macOS    none: it needs tracepoints of Linux
 *
 * REQUIRES
 *   DTrace for Linux, root; tracepoints of sched, raw_syscalls and syscalls, block_bio_queue and tcp_rcv_space_adjust.
 *
 * FIELDS
 *   header  the first line: when the recording began, and the accounts; perfdiag-recording(5) describes all three
 *   thread  a line for each thread: time by account, as [account, nanoseconds, how often, the longest in nanoseconds]
 *   footer  the last line: when and why it ended, and storage_failed: how often a thread found no room
 *
 * EXAMPLE
 *   # ledger.d 749
 *   {"type":"header","schema":1,"perfdiag":"ledger.d","engine":"dtrace","realtime_ns":1795451689672803240,"start_n...
 *   {"type":"thread","at_ns":91610679751,"serial":749,"pid":749,"tid":749,"namespace_tid":749,"state":-1,"start_ns...
 *   {"type":"footer","at_ns":92180721810,"threads_seen":1,"reason":"signal","lost":{"storage_failed":0},"cost":{"p...
 *
 *   perfdiag report reads it, here or elsewhere: ledger.d PID 10 >FILE, then perfdiag report FILE. In a line of a
 *   thread, accounts has what makes up its wall_ns: [6,480300000,46,24200000] are 480 ms in the account at place 6 of
 *   the header, counted from 0 (disk.flush), in 46 waits of which the longest took 24 ms.
 *
 * OVERHEAD
 *   Attaches in 17 s and takes 102 MiB. Adds 421,524 instructions to each line that a shell sends to cat and gets back,
 *   which then executes 11.72 times as many (11.72 to 11.73). Measured with DTrace 2.0.7 in an emulated Linux
 *   6.12.117+deb13-amd64 with 2 CPUs by make bench ARGS=dtrace.
 *
 * CAVEATS
 *   Threads that sleep through the whole window are missing, unless perfdiag runs this (--engine dtrace) and adds
 *   them. Of each one the time before its first switch or system call is missing.
 *   A sleep in a system call that does not say what for is kernel.other, unless the thread sent a request to a disk or
 *   took data of a TCP connection meanwhile. fsync of a file on NFS is disk.flush, too.
 *   Such data are an answer, net.receive, where the process has sent something there since the last ones, else
 *   wait.parked: for an answer or idle, cannot tell. The next request of a client that was accepted before the window
 *   looks like an answer, too.
 *   Time in which a thread could run on an idle CPU, but did not for a millisecond, is unexplained: mostly a CPU quota.
 *   A thread that is given the number of one that ended in the window is left out.
 *   A thread keeps the name that it was met by, whatever it is renamed to, by exec, too: D adds up by the name that it
 *   prints.
 *
 * SEE ALSO
 *   perfdiag-report(8): CPU-CONTENTION CPU-OVERSUBSCRIBED DISK-FLUSH-SLOW DISK-READ-SLOW LOCK-CONTENTION
 */
#pragma D option quiet
#pragma D option defaultargs
#pragma D option aggsize=8m
#pragma D option aggsortkey
#pragma D option dynvarsize=4m
#pragma D option strsize=16

inline int target = $1; /* PID: a number */
inline int seconds = $2; /* SECONDS: a number */

/* Places of accounts in the header are what these and this->account hold: 8 is wait.parked. */
self int inside; /* 1: in a system call */
self int call; /* what that sleeps for, where it says so */
self int proof; /* or what something shows that happened since it began */
self int file; /* from which it reads: its number */

string name[pid_t]; /* of a thread when it was first seen */
uint64_t since[pid_t]; /* when it came into its account */
int64_t state[pid_t]; /* that account, 1 more; 0: it is in none */
int ended[pid_t];
int inside[pid_t]; /* a thread off the CPU has left it in a system call */
uint64_t slept_ns[pid_t]; /* in a system call that does not say what for */
uint64_t slept[pid_t];
uint64_t longest_ns[pid_t];
pid_t heir[pid_t]; /* who took over this number by exec: the number that it was met by, and is known by here */
int asked[int]; /* an open file: 1 something was sent there since data came, 2 it was accepted */
uint64_t idle_since[int]; /* a CPU */
uint64_t last; /* when anything happened */


/* print the header */
dtrace:::BEGIN
{
	printf("{\"type\":\"header\",\"schema\":1,\"perfdiag\":\"ledger.d\",\"engine\":\"dtrace\",");
	printf("\"realtime_ns\":%d,\"start_ns\":%d,", walltimestamp, timestamp);
	printf("\"options\":{\"duration_ns\":%d,\"interval_ns\":0,", (uint64_t)seconds * 1000000000);
	printf("\"descendants\":false,\"stacks\":\"none\"},");
	printf("\"targets\":[{\"pid\":%d,\"namespace_pid\":%d}],\"accounts\":[", target, target);
	printf("\"cpu.user\",\"cpu.kernel\",\"runq.busy\",\"runq.waking\",");
	printf("\"disk.read\",\"disk.write\",\"disk.flush\",\"memory.major_fault\",");
	printf("\"wait.parked\",\"net.connect\",\"net.receive\",\"net.accept\",");
	printf("\"wait.events\",\"wait.timer\",\"wait.child\",\"wait.signal\",\"wait.stopped\",");
	printf("\"kernel.other\",\"unexplained\"]}\n");
	@threads = sum(0);
	@failed = sum(0);
}

/* turn to the thread that is on the CPU */
sdt:sched::sched_switch,
sdt:raw_syscalls::sys_enter,
sdt:raw_syscalls::sys_exit,
sdt:sched::sched_process_exit
{
	this->now = timestamp;
	last = this->now;
	this->tid = heir[tid] != 0 ? heir[tid] : tid;
	this->account = -1;
	this->times = 1;
	this->longest_ns = 0;
}

/* get to know it */
sdt:sched::sched_switch,
sdt:raw_syscalls::sys_enter,
sdt:raw_syscalls::sys_exit
/pid == target && state[this->tid] == 0 && ended[this->tid] == 0/
{
	name[this->tid] = execname;
	since[this->tid] = this->now;
	state[this->tid] = 1;
	@threads = sum(state[this->tid] != 0);
	@failed = sum(state[this->tid] == 0);
}

/* keep what does not change */
sdt:sched::sched_switch,
sdt:raw_syscalls::sys_enter,
sdt:raw_syscalls::sys_exit
/pid == target && state[this->tid] != 0 && since[this->tid] == this->now/
{
	@pid[this->tid, execname] = max(pid);
	@tid[this->tid, execname] = sum(tid);
	@start_ns[this->tid, execname] = min(this->now);
}

/* tell what ends: user mode, the kernel, or what a switch that the kernel has left out hides */
sdt:sched::sched_switch,
sdt:raw_syscalls::sys_enter,
sdt:raw_syscalls::sys_exit,
sdt:sched::sched_process_exit
/pid == target && state[this->tid] != 0/
{
	this->name = name[this->tid];
	this->old = state[this->tid] - 1;
	this->account = this->old < 2 ? this->old : 18;
	this->ns = this->now - since[this->tid];
	since[this->tid] = this->now;
}

/* begin a system call */
sdt:raw_syscalls::sys_enter
/this->account >= 0/
{
	self->inside = 1;
	self->proof = 0;
	this->new = 1;
}

/* end one */
sdt:raw_syscalls::sys_exit
/this->account >= 0/
{
	this->new = 0;
}

/* leave the CPU: it could run, is stopped, or sleeps for what its call says, or something that happened */
sdt:sched::sched_switch
/this->account >= 0/
{
	this->new = (arg3 & 0xff) == 0 ? 2 : (arg3 & 0xc) != 0 ? 16 : self->call != 0 ? self->call :
	    self->inside != 0 ? 17 : self->proof != 0 ? 7 : 18;
	inside[this->tid] = self->inside;
}

/* end, for good */
sdt:sched::sched_process_exit
/this->account >= 0/
{
	ended[this->tid] = 1;
	this->new = -1;
}

/* follow a thread that takes over the number of the leader, which has ended for that */
sdt:sched::sched_process_exec
/pid == target && arg1 != arg2/
{
	heir[(pid_t)arg1] = (pid_t)arg2;
}

/* show it by that number */
sdt:sched::sched_process_exec
/pid == target && arg1 != arg2 && state[(pid_t)arg2] != 0/
{
	@tid[(pid_t)arg2, name[(pid_t)arg2]] = sum((pid_t)arg1 - (pid_t)arg2);
}

/* book cpu.user */
sdt:sched::sched_switch,
sdt:raw_syscalls::sys_enter,
sdt:raw_syscalls::sys_exit,
sdt:sched::sched_process_exit
/this->account == 0/
{
	@user_ns[this->tid, this->name] = sum(this->ns);
	@user[this->tid, this->name] = sum(this->times);
}

/* book cpu.kernel */
sdt:sched::sched_switch,
sdt:raw_syscalls::sys_enter,
sdt:raw_syscalls::sys_exit,
sdt:sched::sched_process_exit
/this->account == 1/
{
	@kernel_ns[this->tid, this->name] = sum(this->ns);
	@kernel[this->tid, this->name] = sum(this->times);
}

/* book what a hidden switch leaves unexplained */
sdt:sched::sched_switch,
sdt:raw_syscalls::sys_enter,
sdt:raw_syscalls::sys_exit,
sdt:sched::sched_process_exit
/this->account == 18/
{
	@unexplained_ns[this->tid, this->name] = sum(this->ns);
	@unexplained[this->tid, this->name] = sum(this->times);
}

/* add it to the whole, and tell what comes next */
sdt:sched::sched_switch,
sdt:raw_syscalls::sys_enter,
sdt:raw_syscalls::sys_exit,
sdt:sched::sched_process_exit
/this->account >= 0/
{
	@wall_ns[this->tid, this->name] = sum(this->ns);
	@at_ns[this->tid, this->name] = max(this->now);
	@state[this->tid, this->name] = sum(this->new - this->old);
	state[this->tid] = this->new + 1;
}

/* turn to the thread that gets the CPU */
sdt:sched::sched_switch
{
	this->tid = heir[(pid_t)arg5] != 0 ? heir[(pid_t)arg5] : (pid_t)arg5;
	this->old = state[this->tid] - 1;
	this->account = this->old;
}

/* or to one that is woken while it sleeps */
sdt:sched::sched_waking
{
	this->now = timestamp;
	this->tid = heir[(pid_t)arg1] != 0 ? heir[(pid_t)arg1] : (pid_t)arg1;
	this->old = state[this->tid] - 1;
	this->account = this->old > 3 ? this->old : -1;
	this->times = 1;
}

/* tell what ends: a sleep, or a wait for a CPU */
sdt:sched::sched_switch,
sdt:sched::sched_waking
/this->account >= 0/
{
	this->name = name[this->tid];
	this->ns = this->now - since[this->tid];
	this->longest_ns = this->ns;
	since[this->tid] = this->now;
	this->new = 2;
}

/* remember a sleep of which the end of the call tells more */
sdt:sched::sched_switch,
sdt:sched::sched_waking
/this->account == 17/
{
	slept_ns[this->tid] += this->ns;
	slept[this->tid]++;
	longest_ns[this->tid] = this->ns > longest_ns[this->tid] ? this->ns : longest_ns[this->tid];
	this->longest_ns = 0;
}

/* get the CPU */
sdt:sched::sched_switch
/this->account >= 0/
{
	this->new = inside[this->tid];
}

/* add it to the whole, and tell what comes next */
sdt:sched::sched_switch,
sdt:sched::sched_waking
/this->account >= 0/
{
	@wall_ns[this->tid, this->name] = sum(this->ns);
	@at_ns[this->tid, this->name] = max(this->now);
	@state[this->tid, this->name] = sum(this->new - this->old);
	state[this->tid] = this->new + 1;
}

/* book runq.busy: others ran until its CPU was idle, then that woke up; no CPU takes a millisecond for that */
sdt:sched::sched_switch
/this->account == 2/
{
	this->idle_ns = arg1 == 0 ? this->now - idle_since[cpu] : 0;
	this->idle_ns = this->idle_ns < this->ns ? this->idle_ns : this->ns;
	this->ns -= this->idle_ns;
	@busy_ns[this->tid, this->name] = sum(this->ns);
	@busy[this->tid, this->name] = sum(this->ns > 0);
	@busy_longest_ns[this->tid, this->name] = max(this->ns);
	this->account = this->idle_ns == 0 ? -1 : this->idle_ns < 1000000 ? 3 : 18;
	this->ns = this->idle_ns;
	this->longest_ns = this->ns;
}

/* remember since when a CPU is idle */
sdt:sched::sched_switch
/arg5 == 0/
{
	idle_since[cpu] = this->now;
}

/* take what its call slept out of kernel.other: what has happened meanwhile may tell */
sdt:raw_syscalls::sys_exit
/this->account >= 0 && slept[this->tid] != 0/
{
	this->account = self->proof != 0 ? self->proof : 17;
	this->ns = slept_ns[this->tid];
	this->times = slept[this->tid];
	this->longest_ns = longest_ns[this->tid];
	@other_ns[this->tid, this->name] = sum(-this->ns);
	@other[this->tid, this->name] = sum(-this->times);
	slept_ns[this->tid] = 0;
	slept[this->tid] = 0;
	longest_ns[this->tid] = 0;
}

/* forget the call */
sdt:raw_syscalls::sys_exit
/pid == target/
{
	self->inside = 0;
	self->call = 0;
	self->proof = 0;
	self->file = 0;
}

/* book runq.waking */
sdt:sched::sched_switch
/this->account == 3/
{
	@waking_ns[this->tid, this->name] = sum(this->ns);
	@waking[this->tid, this->name] = sum(this->times);
	@waking_longest_ns[this->tid, this->name] = max(this->longest_ns);
}

/* book disk.read */
sdt:sched::sched_switch,
sdt:sched::sched_waking,
sdt:raw_syscalls::sys_exit
/this->account == 4/
{
	@read_ns[this->tid, this->name] = sum(this->ns);
	@read[this->tid, this->name] = sum(this->times);
	@read_longest_ns[this->tid, this->name] = max(this->longest_ns);
}

/* book disk.write */
sdt:sched::sched_switch,
sdt:sched::sched_waking,
sdt:raw_syscalls::sys_exit
/this->account == 5/
{
	@write_ns[this->tid, this->name] = sum(this->ns);
	@write[this->tid, this->name] = sum(this->times);
	@write_longest_ns[this->tid, this->name] = max(this->longest_ns);
}

/* book disk.flush */
sdt:sched::sched_switch,
sdt:sched::sched_waking
/this->account == 6/
{
	@flush_ns[this->tid, this->name] = sum(this->ns);
	@flush[this->tid, this->name] = sum(this->times);
	@flush_longest_ns[this->tid, this->name] = max(this->longest_ns);
}

/* book memory.major_fault */
sdt:sched::sched_switch,
sdt:sched::sched_waking
/this->account == 7/
{
	@fault_ns[this->tid, this->name] = sum(this->ns);
	@fault[this->tid, this->name] = sum(this->times);
	@fault_longest_ns[this->tid, this->name] = max(this->longest_ns);
}

/* book wait.parked */
sdt:sched::sched_switch,
sdt:sched::sched_waking,
sdt:raw_syscalls::sys_exit
/this->account == 8/
{
	@parked_ns[this->tid, this->name] = sum(this->ns);
	@parked[this->tid, this->name] = sum(this->times);
	@parked_longest_ns[this->tid, this->name] = max(this->longest_ns);
}

/* book net.connect */
sdt:sched::sched_switch,
sdt:sched::sched_waking
/this->account == 9/
{
	@connect_ns[this->tid, this->name] = sum(this->ns);
	@connect[this->tid, this->name] = sum(this->times);
	@connect_longest_ns[this->tid, this->name] = max(this->longest_ns);
}

/* book net.receive */
sdt:sched::sched_switch,
sdt:sched::sched_waking,
sdt:raw_syscalls::sys_exit
/this->account == 10/
{
	@receive_ns[this->tid, this->name] = sum(this->ns);
	@receive[this->tid, this->name] = sum(this->times);
	@receive_longest_ns[this->tid, this->name] = max(this->longest_ns);
}

/* book net.accept */
sdt:sched::sched_switch,
sdt:sched::sched_waking
/this->account == 11/
{
	@accept_ns[this->tid, this->name] = sum(this->ns);
	@accept[this->tid, this->name] = sum(this->times);
	@accept_longest_ns[this->tid, this->name] = max(this->longest_ns);
}

/* book wait.events */
sdt:sched::sched_switch,
sdt:sched::sched_waking
/this->account == 12/
{
	@events_ns[this->tid, this->name] = sum(this->ns);
	@events[this->tid, this->name] = sum(this->times);
	@events_longest_ns[this->tid, this->name] = max(this->longest_ns);
}

/* book wait.timer */
sdt:sched::sched_switch,
sdt:sched::sched_waking
/this->account == 13/
{
	@timer_ns[this->tid, this->name] = sum(this->ns);
	@timer[this->tid, this->name] = sum(this->times);
	@timer_longest_ns[this->tid, this->name] = max(this->longest_ns);
}

/* book wait.child */
sdt:sched::sched_switch,
sdt:sched::sched_waking
/this->account == 14/
{
	@child_ns[this->tid, this->name] = sum(this->ns);
	@child[this->tid, this->name] = sum(this->times);
	@child_longest_ns[this->tid, this->name] = max(this->longest_ns);
}

/* book wait.signal */
sdt:sched::sched_switch,
sdt:sched::sched_waking
/this->account == 15/
{
	@signal_ns[this->tid, this->name] = sum(this->ns);
	@signal[this->tid, this->name] = sum(this->times);
	@signal_longest_ns[this->tid, this->name] = max(this->longest_ns);
}

/* book wait.stopped */
sdt:sched::sched_switch,
sdt:sched::sched_waking
/this->account == 16/
{
	@stopped_ns[this->tid, this->name] = sum(this->ns);
	@stopped[this->tid, this->name] = sum(this->times);
	@stopped_longest_ns[this->tid, this->name] = max(this->longest_ns);
}

/* book kernel.other */
sdt:sched::sched_switch,
sdt:sched::sched_waking,
sdt:raw_syscalls::sys_exit
/this->account == 17/
{
	@other_ns[this->tid, this->name] = sum(this->ns);
	@other[this->tid, this->name] = sum(this->times);
	@other_longest_ns[this->tid, this->name] = max(this->longest_ns);
}

/* book unexplained */
sdt:sched::sched_switch,
sdt:sched::sched_waking
/this->account == 18/
{
	@unexplained_ns[this->tid, this->name] = sum(this->ns);
	@unexplained[this->tid, this->name] = sum(this->times);
	@unexplained_longest_ns[this->tid, this->name] = max(this->longest_ns);
}

/* remember what a call sleeps for, as it says so */
syscall::f*sync:entry,
syscall::sync*:entry,
syscall::msync:entry
/pid == target/
{
	self->call = 6;
}

/* likewise */
syscall::futex*:entry,
syscall::sem*op:entry,
syscall::m*receive:entry
/pid == target/
{
	self->call = 8;
}

/* likewise */
syscall::connect:entry
/pid == target/
{
	self->call = 9;
}

/* likewise */
syscall::accept*:entry
/pid == target/
{
	self->call = 11;
}

/* likewise */
syscall::*poll:entry,
syscall::*select*:entry,
syscall::epoll_*wait*:entry
/pid == target/
{
	self->call = 12;
}

/* likewise */
syscall::*nanosleep:entry
/pid == target/
{
	self->call = 13;
}

/* likewise */
syscall::wait*:entry
/pid == target/
{
	self->call = 14;
}

/* likewise */
syscall::rt_sig*wait*:entry,
syscall::rt_sigsuspend:entry
/pid == target/
{
	self->call = 15;
}

/* remember what shows it while a thread is in a call that does not, or outside one: a request to a disk */
sdt:block::block_bio_queue
/pid == target/
{
	self->proof = args[3][0] == 'R' ? 4 : 5;
}

/* likewise data of a TCP connection: an answer, or nobody has asked for them */
sdt:tcp::tcp_rcv_space_adjust
/pid == target && self->proof == 0/
{
	self->proof = asked[self->file] == 1 ? 10 : 8;
	asked[self->file] = asked[self->file] == 1 ? 0 : asked[self->file];
}

/* remember where data come from */
syscall::read:entry,
syscall::readv:entry,
syscall::recv*:entry
/pid == target/
{
	self->file = arg0;
}

/* remember where something is sent, which is answered */
syscall::write:entry,
syscall::writev:entry,
syscall::sendto:entry,
syscall::send*msg:entry
/pid == target && asked[(int)arg0] == 0/
{
	asked[(int)arg0] = 1;
}

/* remember a connection of somebody who asks */
syscall::accept*:return
/pid == target && (int)arg1 >= 0/
{
	asked[(int)arg1] = 2;
}

/* forget a file */
syscall::close:entry
/pid == target/
{
	asked[(int)arg0] = 0;
}

/* tell the time where nothing happens */
profile:::tick-1s
{
	last = timestamp;
}

/* end after so many seconds */
profile:::tick-1s
/seconds > 0 && ++seconds_passed >= seconds/
{
	exit(0);
}

/* print a line for each thread, and the footer: D has no line break within a text */
dtrace:::END
{
	printa("{\"type\":\"thread\",\"at_ns\":%@d,\"serial\":%d,\"pid\":%@d,\"tid\":%@d,\"namespace_tid\":%@d,\"state\":%@d,\"start_ns\":%@d,\"wall_ns\":%@d,\"user_ns\":%@d,\"kernel_ns\":%@d,\"accounts\":[[0,%@d,%@d,0],[1,%@d,%@d,0],[2,%@d,%@d,%@d],[3,%@d,%@d,%@d],[4,%@d,%@d,%@d],[5,%@d,%@d,%@d],[6,%@d,%@d,%@d],[7,%@d,%@d,%@d],[8,%@d,%@d,%@d],[9,%@d,%@d,%@d],[10,%@d,%@d,%@d],[11,%@d,%@d,%@d],[12,%@d,%@d,%@d],[13,%@d,%@d,%@d],[14,%@d,%@d,%@d],[15,%@d,%@d,%@d],[16,%@d,%@d,%@d],[17,%@d,%@d,%@d],[18,%@d,%@d,%@d]],\"comm\":\"%s\"}\n",
	    @at_ns, @pid, @tid, @tid, @state, @start_ns, @wall_ns, @user_ns, @kernel_ns,
	    @user_ns, @user, @kernel_ns, @kernel,
	    @busy_ns, @busy, @busy_longest_ns, @waking_ns, @waking, @waking_longest_ns,
	    @read_ns, @read, @read_longest_ns, @write_ns, @write, @write_longest_ns,
	    @flush_ns, @flush, @flush_longest_ns, @fault_ns, @fault, @fault_longest_ns,
	    @parked_ns, @parked, @parked_longest_ns, @connect_ns, @connect, @connect_longest_ns,
	    @receive_ns, @receive, @receive_longest_ns, @accept_ns, @accept, @accept_longest_ns,
	    @events_ns, @events, @events_longest_ns, @timer_ns, @timer, @timer_longest_ns,
	    @child_ns, @child, @child_longest_ns, @signal_ns, @signal, @signal_longest_ns,
	    @stopped_ns, @stopped, @stopped_longest_ns, @other_ns, @other, @other_longest_ns,
	    @unexplained_ns, @unexplained, @unexplained_longest_ns);
	printf("{\"type\":\"footer\",\"at_ns\":%d,", last);
	printa("\"threads_seen\":%@d,", @threads);
	printf("\"reason\":\"%s\",", seconds > 0 && seconds_passed >= seconds ? "duration" : "signal");
	printa("\"lost\":{\"storage_failed\":%@d},\"cost\":{\"programs\":[]}}\n", @failed);
}
