/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * busy_poll - a thread that asks again and again whether there is something to do, and never sleeps: --how says by which
 * call.  Its twins: "work" computes and asks between two pieces of work; "flag" waits for a flag in memory, which looks
 * like computing; "served" finds something each time it asks.
 */
#include "workload.h"
#include <sys/epoll.h>
#include <sys/socket.h>

#define ROUNDS 101

static volatile uint64_t sink;
static volatile bool flag;
static int ends[2], sockets[2], events;

static __attribute__((noinline)) void compute(void)
{
	uint64_t value = sink;

	for (int i = 0; i < 200000; i++)
		value = value * 6364136223846793005ULL + 1442695040888963407ULL;
	sink = value;
}

static bool ask_yield(void)
{
	sched_yield();
	return false;
}

static bool ask_poll(void)
{
	struct pollfd wanted = { .fd = ends[0], .events = POLLIN };

	return poll(&wanted, 1, 0) > 0;
}

static bool ask_epoll(void)
{
	struct epoll_event event;

	return epoll_wait(events, &event, 1, 0) > 0;
}

static bool ask_recv(void)
{
	char byte;

	return recv(sockets[0], &byte, 1, MSG_DONTWAIT) > 0;
}

static bool ask_work(void)
{
	compute();
	return ask_poll();
}

static bool ask_served(void)
{
	char bytes[1024] = "";

	CHECK(send(sockets[1], bytes, sizeof(bytes), 0));
	return recv(sockets[0], bytes, sizeof(bytes), MSG_DONTWAIT) > 0;
}

static bool ask_flag(void)
{
	for (int i = 0; i < 10000 && !flag; i++)
		;
	return flag;
}

static const struct {
	const char *name;
	bool (*ask)(void);
} WAYS[] = {
	{ "yield", ask_yield }, { "poll", ask_poll },	  { "epoll", ask_epoll }, { "recv", ask_recv },
	{ "work", ask_work },	{ "served", ask_served }, { "flag", ask_flag },
};

/* So seldom that it is no part of the loop. */
static uint64_t cpu_time_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return used.tv_sec * SECOND + used.tv_nsec;
}

int main(int argc, char **argv)
{
	const char *how = "yield";
	long cpu_ms = 500;
	bool wait = parse_options(argc, argv,
				  KNOBS(TEXT("how", how, "yield, poll, epoll, recv, work, served or flag"),
					NUMBER("cpu-ms", cpu_ms, "of CPU time, however long that takes")));
	struct epoll_event interest = { .events = EPOLLIN };
	bool (*ask)(void) = NULL;
	uint64_t begin_ns, used_ns, asked = 0, found = 0;

	for (size_t i = 0; i < sizeof(WAYS) / sizeof(*WAYS); i++)
		if (!strcmp(how, WAYS[i].name))
			ask = WAYS[i].ask;
	if (!ask) {
		fprintf(stderr, "%s: no way to ask: %s\n", program_invocation_short_name, how);
		return 2;
	}
	CHECK(pipe2(ends, O_NONBLOCK));
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	events = CHECK(epoll_create1(0));
	CHECK(epoll_ctl(events, EPOLL_CTL_ADD, ends[0], &interest));
	start_work(wait);
	begin_ns = cpu_time_ns();
	do
		for (int i = 0; i < ROUNDS; i++, asked++)
			found += ask();
	while ((used_ns = cpu_time_ns() - begin_ns) < cpu_ms * MILLISECOND);
	PRINT_TRUTH({ "cpu_ns", used_ns }, { "asked", asked }, { "found", found });
	return 0;
}
