/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pingpong - two processes pass one byte to and fro: with pipes (ipc.pipe), a unix socket (ipc.unix) or TCP.  Pinned to
 * one CPU it is the worst case for a tracer of switches, a switch every few microseconds; with --think-us the other side
 * makes the first one wait.
 */
#include "workload.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/socket.h>

struct channel {
	int in, out;
};

static void pass(struct channel channel, bool first)
{
	char byte = 'x';

	if (first && write(channel.out, &byte, 1) != 1)
		die("write");
	if (read(channel.in, &byte, 1) != 1)
		_exit(0); /* the other side has finished */
	if (!first && write(channel.out, &byte, 1) != 1)
		_exit(0);
}

/* Both ends of a connection over loopback that sends at once. */
static void connect_pair(int pair[2])
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = CHECK(socket(AF_INET, SOCK_STREAM, 0)), on = 1;
	socklen_t length = sizeof(address);

	pair[0] = CHECK(socket(AF_INET, SOCK_STREAM, 0));
	CHECK(bind(listener, (struct sockaddr *)&address, length));
	CHECK(listen(listener, 1));
	CHECK(getsockname(listener, (struct sockaddr *)&address, &length));
	CHECK(connect(pair[0], (struct sockaddr *)&address, length));
	pair[1] = CHECK(accept(listener, NULL, NULL));
	for (int i = 0; i < 2; i++)
		CHECK(setsockopt(pair[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)));
	close(listener);
}

int main(int argc, char **argv)
{
	const char *mode = "pipe";
	long count = 20011, cpu = -1, think_us = 0;
	bool wait = parse_options(argc, argv,
				  KNOBS(TEXT("mode", mode, "pipe, unix or tcp"), NUMBER("count", count, "round trips"),
					NUMBER("cpu", cpu, "pin both sides to this CPU"),
					NUMBER("think-us", think_us, "how long the other side thinks")));
	struct channel mine, other;
	int pair[2], back[2];
	uint64_t spent_ns;

	if (!strcmp(mode, "unix") || !strcmp(mode, "tcp")) {
		if (!strcmp(mode, "tcp"))
			connect_pair(pair);
		else
			CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
		mine = (struct channel){ pair[0], pair[0] };
		other = (struct channel){ pair[1], pair[1] };
	} else {
		CHECK(pipe(pair));
		CHECK(pipe(back));
		mine = (struct channel){ pair[0], back[1] };
		other = (struct channel){ back[0], pair[1] };
	}
	if (cpu >= 0)
		pin(cpu);
	if (CHECK(fork()) == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "pong");
		for (;;) {
			if (think_us)
				sleep_ns(think_us * 1000);
			pass(other, false);
		}
	}
	start_work(wait);
	for (long i = 0; i < count; i++)
		pass(mine, true);
	spent_ns = now_ns() - workload_started_ns;
	PRINT_TRUTH({ "count", count }, { "spent_ns", spent_ns }, { "ns_per_op", spent_ns / count });
	return 0;
}
