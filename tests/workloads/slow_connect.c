/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * slow_connect - connects to a server whose queue of connections is full: the first SYN is dropped, the second one,
 * a second later, is answered: net.connect.
 */
#include "workload.h"
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>

/* Waits inside the call itself, or as event loops do, in epoll, with a descriptor to be woken by. */
static void connect_to(int fd, struct sockaddr_in *address, bool in_epoll)
{
	int epoll = CHECK(epoll_create1(0)), error = 0;
	struct epoll_event event = { .events = EPOLLIN };
	socklen_t length = sizeof(error);

	if (!in_epoll) {
		CHECK(connect(fd, (struct sockaddr *)address, sizeof(*address)));
		return;
	}
	CHECK(fcntl(fd, F_SETFL, O_NONBLOCK));
	if (connect(fd, (struct sockaddr *)address, sizeof(*address)) && errno != EINPROGRESS)
		die("connect");
	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, CHECK(eventfd(0, 0)), &event));
	event.events = EPOLLOUT;
	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	CHECK(epoll_wait(epoll, &event, 1, -1));
	CHECK(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length));
	errno = error;
	if (error)
		die("connect");
}

int main(int argc, char **argv)
{
	long accept_ms = 300, fillers = 0;
	const char *how = "connect";
	bool wait = parse_options(argc, argv,
				  KNOBS(NUMBER("accept-ms", accept_ms, "when the server begins to accept"),
					TEXT("how", how, "it waits in connect or epoll")));
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = CHECK(socket(AF_INET, SOCK_STREAM, 0)), fd, begin_accepting[2];
	socklen_t length = sizeof(address);
	struct pollfd connected;
	uint64_t connect_ns;
	char byte = 'x';

	CHECK(bind(listener, (struct sockaddr *)&address, length));
	CHECK(listen(listener, 0));
	CHECK(getsockname(listener, (struct sockaddr *)&address, &length));
	CHECK(pipe(begin_accepting));
	if (CHECK(fork()) == 0) {
		prctl(PR_SET_NAME, "late-server");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(begin_accepting[0], &byte, 1) != 1)
			_exit(1);
		sleep_ns(accept_ms * MILLISECOND);
		for (;;)
			CHECK(accept(listener, NULL, NULL));
	}
	do { /* fill the queue: until a connection is not answered within 50 ms */
		fillers++;
		connected.fd = CHECK(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
		connected.events = POLLOUT;
		if (connect(connected.fd, (struct sockaddr *)&address, length) && errno != EINPROGRESS)
			die("connect");
	} while (CHECK(poll(&connected, 1, 50)) == 1);
	close(connected.fd);
	fd = CHECK(socket(AF_INET, SOCK_STREAM, 0));
	start_work(wait);
	if (write(begin_accepting[1], &byte, 1) != 1)
		die("write");
	connect_to(fd, &address, !strcmp(how, "epoll"));
	connect_ns = now_ns() - workload_started_ns;
	PRINT_TRUTH({ "connect_ns", connect_ns }, { "port", ntohs(address.sin_port) }, { "fillers", fillers });
	return 0;
}
