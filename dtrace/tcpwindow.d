#!/usr/sbin/dtrace -s
/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * tcpwindow.d - Which TCP peers keep senders waiting, by their receive window or by congestion?
 *
 * A thread whose send fills the send buffer sleeps until the receiver has room (its window), or until the network is
 * thought to take more (the congestion window). A receiver's window is full where its program reads too slowly, or
 * where its receive buffer is small for the distance: no faster network helps then.
 *
 * USAGE
 *   tcpwindow.d [PID [SECONDS]]
 *   PID      the process that is traced; without it, or 0: all processes
 *   SECONDS  how long to trace; without it: until Ctrl-C
 *
 * OS
 *   Linux    run: DTrace 2.0.7, Linux 6.12
 *   illumos  none: it needs tracepoints of Linux
 *   FreeBSD  none: it needs tracepoints of Linux
 *   macOS    none: it needs tracepoints of Linux
 *
 * REQUIRES
 *   DTrace for Linux, root; probes fbt of sk_stream_wait_memory, as no tracepoint tells of a full send buffer.
 *
 * FIELDS
 *   waits_ns  waits in sends by ADDRESS and PORT of the peer, and HOLDER: how many, mean and sum of their lengths in
 *             nanoseconds. HOLDER is what held the connection when the wait began: receiver where its window had no
 *             room for a whole segment, congestion where that window was used up, buffer where neither was and the
 *             send buffer alone was full
 *
 * EXAMPLE
 *   # tcpwindow.d 722
 *   Tracing waits in sends over TCP. Ctrl-C ends.
 *   waits_ns:
 *     127.0.0.1 53613 receiver    count 64, average 28997963, total 1855869679
 *
 *   Nearly all of the waits in send began when the receiver's window had no room for a segment. The program at the
 *   other end reads too slowly.
 *
 * OVERHEAD
 *   Attaches in 23 s and takes 102 MiB. Adds 248 instructions to each round trip over TCP between two processes on a
 *   CPU, which then executes 1.01 times as many (1.01 to 1.01). Measured with DTrace 2.0.7 in an emulated Linux
 *   6.12.117+deb13-amd64 with 2 CPUs by make bench ARGS=dtrace.
 *
 * CAVEATS
 *   Both windows are looked at when a wait begins; what changes meanwhile is not seen. Where both are used up, as
 *   after a loss, it is congestion: the kernel asks in this order too.
 *   Sends that do not block, and waits for room in epoll_wait(2) and the like, are not seen: "ss -ti" has the time that
 *   each connection was limited by the receiver (rwnd_limited) or by the send buffer (sndbuf_limited).
 *   A wait includes the time until the thread has a CPU again.
 *   MPTCP is not seen.
 *
 * SEE ALSO
 *   perfdiag-latency(8): NET-RECEIVER-WINDOW NET-SLOW-CLIENT NET-CONGESTION
 */
#pragma D option quiet
#pragma D option defaultargs

inline int target = $1; /* PID: a number */
inline int seconds = $2; /* SECONDS: a number */

/* tell that it traces */
dtrace:::BEGIN
{
	printf("Tracing waits in sends over TCP. Ctrl-C ends.\n");
}

/* begin a wait of a send that may block: 6 is TCP */
fbt::sk_stream_wait_memory:entry
/(target == 0 || pid == target) && *(long *)arg1 != 0 && ((struct sock *)arg0)->sk_protocol == 6/
{
	this->tcp = (struct tcp_sock *)arg0;
	self->sock = (struct sock *)arg0;
	this->room = (int)(this->tcp->snd_una + this->tcp->snd_wnd - this->tcp->snd_nxt);
	self->holder = this->tcp->packets_out >= this->tcp->snd_cwnd ? "congestion" :
	    this->room < (int)this->tcp->mss_cache ? "receiver" : "buffer";
	self->begin = timestamp;
}

/* take the address of a peer of IPv4 */
fbt::sk_stream_wait_memory:return
/self->begin != 0 && self->sock->__sk_common.skc_family == 2/
{
	self->address = inet_ntoa(&self->sock->__sk_common.skc_daddr);
}

/* take the address of a peer of IPv6 */
fbt::sk_stream_wait_memory:return
/self->begin != 0 && self->sock->__sk_common.skc_family == 10/
{
	self->address = inet_ntoa6(&self->sock->__sk_common.skc_v6_daddr);
}

/* book a wait */
fbt::sk_stream_wait_memory:return
/self->begin != 0/
{
	this->port = ntohs(self->sock->__sk_common.skc_dport);
	@waits[self->address, this->port, self->holder] = count();
	@average_ns[self->address, this->port, self->holder] = avg(timestamp - self->begin);
	@total_ns[self->address, this->port, self->holder] = sum(timestamp - self->begin);
	self->begin = 0;
	self->sock = 0;
	self->holder = 0;
	self->address = 0;
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
	printf("\nwaits_ns:\n");
	printa("  %s %d %-10s  count %@d, average %@d, total %@d\n", @waits, @average_ns, @total_ns);
}
