#!/usr/sbin/dtrace -s
/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * sqlq.d - Which statements of a PostgreSQL server are slow?
 *
 * From when a session has a statement until it waits for its client again, whichever protocol the client speaks:
 * parsing, planning, locks, input and output. A statement is shown up to its first literal, as literals are secrets.
 *
 * USAGE
 *   sqlq.d PID [SECONDS]
 *   PID      the process of a session (pg_stat_activity: pid): also as dtrace -p PID
 *   SECONDS  how long to trace; without it: until Ctrl-C
 *
 * OS
 *   Linux    run: DTrace 2.0.7, Linux 6.12
 *   illumos  unknown
 *   FreeBSD  unknown
 *   macOS    unknown
 *
 * REQUIRES
 *   DTrace, root; a PostgreSQL with the probes of its documentation (built with --enable-dtrace, as Debian's is).
 *
 * FIELDS
 *   statement_ns  statements by length, in nanoseconds: a row holds those from its value to the next one
 *   statements    statements by STATEMENT: how many, mean and sum of their lengths in nanoseconds
 *   longest_ns    the longest one, in nanoseconds
 *   unseen        ends without a beginning: of a statement that ran already
 *
 * EXAMPLE
 *   # sqlq.d 705
 *   Tracing statements of PostgreSQL. Ctrl-C ends.
 *   statement_ns:
 *              value  ------------- Distribution ------------- count
 *           16777216 |                                         0
 *           33554432 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@       6
 *           67108864 |@@@@@@                                   1
 *          134217728 |                                         0
 *   statements:
 *     SELECT pg_sleep(                                 count 7, average 56500288, total 395502018
 *   longest_ns: 74374744
 *
 *   Seven statements that begin with SELECT pg_sleep took 50 ms and a bit each; the literal behind is not shown. Of
 *   several rows the last one is the most frequent.
 *
 * OVERHEAD
 *   Attaches in 10 s and takes 102 MiB. Adds 33,529 instructions to each statement that does nothing, which then
 *   executes 1.39 times as many (1.39 to 1.39). Measured with DTrace 2.0.7 in an emulated Linux 6.12.117+deb13-amd64
 *   with 2 CPUs by make bench ARGS=dtrace.
 *
 * CAVEATS
 *   STATEMENT has at most 48 letters and ends before the first quote, digit, dollar, colon, minus or slash; behind a
 *   comment it is empty. A value without quotes (SET x = y) is shown.
 *   What a client sends at once (several statements, or to parse, bind and execute) counts as one: the last is named.
 *   A statement that has not ended is missing: pg_stat_activity shows it. Failed ones look like others.
 *
 * SEE ALSO
 *   perfdiag-latency(8): DISK-FLUSH-SLOW LOCK-CONTENTION SLO-BREACH
 */
#pragma D option quiet
#pragma D option defaultargs

inline int target = $1; /* PID: a number */
inline int seconds = $2; /* SECONDS: a number */

/* tell that it traces */
dtrace:::BEGIN
{
	printf("Tracing statements of PostgreSQL. Ctrl-C ends.\n");
}

/* begin a statement */
postgresql$1:::statement-status
/arg0 != 0 && self->begin == 0/
{
	self->begin = timestamp;
}

/* keep its text up to the first literal */
postgresql$1:::statement-status
/arg0 != 0/
{
	this->text = strjoin(" ", copyinstr(arg0)); /* strtok() would skip a quote in front; the blank is none */
	self->text = substr(strtok(this->text, "!\"#$%&'-/0123456789:"), 1, 48);
}

/* count a statement whose beginning was not seen */
postgresql$1:::statement-status
/arg0 == 0 && self->begin == 0/
{
	@unseen = count();
}

/* book a statement: the session waits for its client */
postgresql$1:::statement-status
/arg0 == 0 && self->begin != 0/
{
	this->ns = timestamp - self->begin;
	@statement_ns = quantize(this->ns);
	@statements[self->text] = count();
	@average_ns[self->text] = avg(this->ns);
	@total_ns[self->text] = sum(this->ns);
	@longest_ns = max(this->ns);
	self->begin = 0;
	self->text = 0;
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
	printa("statement_ns:%@d", @statement_ns);
	printf("statements:\n");
	printa("  %-48s count %@d, average %@d, total %@d\n", @statements, @average_ns, @total_ns);
	printa("longest_ns: %@d\n", @longest_ns);
	printa("unseen: %@d\n", @unseen);
}
