/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * turns - an event loop that is asked by more connections than it can answer: each request lies unread for as many turns
 * as there are others, and each turn computes and sleeps for known times.  Clients are another process.
 */
#include "workload.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>

enum { MOST_EVENTS = 256, LONGEST = 512 };

static const char request[] = "GET /turn HTTP/1.1\r\n\r\n";
static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

static void add(int epoll, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
}

/* Each connection asks again as soon as it has its answer. */
static void ask(const struct sockaddr_in *address, long connections, int begin)
{
	struct epoll_event events[MOST_EVENTS];
	int epoll = CHECK(epoll_create1(0)), on = 1, fds[MOST_EVENTS];
	char buffer[LONGEST];

	for (long i = 0; i < connections; i++) {
		fds[i] = CHECK(socket(AF_INET, SOCK_STREAM, 0));
		CHECK(connect(fds[i], (const struct sockaddr *)address, sizeof(*address)));
		CHECK(setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)));
		add(epoll, fds[i]);
	}
	CHECK(read(begin, buffer, 1));
	for (long i = 0; i < connections; i++)
		CHECK(write(fds[i], request, sizeof(request) - 1));
	for (;;) {
		int count = CHECK(epoll_wait(epoll, events, MOST_EVENTS, -1));

		for (int i = 0; i < count; i++) {
			int fd = events[i].data.fd;

			if (read(fd, buffer, sizeof(buffer)) <= 0 || write(fd, request, sizeof(request) - 1) <= 0)
				_exit(0); /* the server has finished */
		}
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	long connections = 47, count = 20011, compute_us = 40, sleep_us = 20, answered = 0;
	bool wait = parse_options(argc, argv,
				  KNOBS(NUMBER("connections", connections, "that ask all the time"),
					NUMBER("count", count, "requests"),
					NUMBER("compute-us", compute_us, "in each turn"),
					NUMBER("sleep-us", sleep_us, "in each turn, and what the kernel adds")));
	int listener = CHECK(socket(AF_INET, SOCK_STREAM, 0)), epoll = CHECK(epoll_create1(0)), on = 1;
	struct epoll_event events[MOST_EVENTS];
	socklen_t length = sizeof(address);
	uint64_t slept_ns = 0, begun_ns;
	char buffer[LONGEST];
	int begin[2];

	if (connections < 1 || connections > MOST_EVENTS)
		return 2;
	CHECK(pipe(begin));
	CHECK(prctl(PR_SET_TIMERSLACK, 1));
	CHECK(bind(listener, (struct sockaddr *)&address, length));
	CHECK(listen(listener, connections));
	CHECK(getsockname(listener, (struct sockaddr *)&address, &length));
	if (CHECK(fork()) == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "clients");
		ask(&address, connections, begin[0]);
	}
	for (long i = 0; i < connections; i++) {
		int fd = CHECK(accept(listener, NULL, NULL));

		CHECK(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)));
		add(epoll, fd);
	}
	start_work(wait);
	CHECK(write(begin[1], "", 1));
	while (answered < count) {
		int ready = CHECK(epoll_wait(epoll, events, MOST_EVENTS, -1));

		for (int i = 0; i < ready && answered < count; i++, answered++) {
			if (read(events[i].data.fd, buffer, sizeof(buffer)) <= 0)
				die("read");
			spin_until(now_ns() + compute_us * 1000);
			begun_ns = now_ns();
			sleep_ns(sleep_us * 1000);
			slept_ns += now_ns() - begun_ns;
			CHECK(write(events[i].data.fd, answer, sizeof(answer) - 1));
		}
	}
	PRINT_TRUTH({ "count", answered }, { "slept_ns", slept_ns });
	return 0;
}
