/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * listen_overflow - a server that accepts nothing meanwhile: its accept queue is filled, and each connection beyond is
 * dropped once (the client would ask again after a second, and is gone by then).  Its twin has room for all of them.
 */
#include "workload.h"
#include <netinet/in.h>
#include <sys/socket.h>

static int connect_to(const struct sockaddr_in *address, int flags)
{
	int fd = CHECK(socket(AF_INET, SOCK_STREAM | flags, 0));

	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) && errno != EINPROGRESS)
		die("connect");
	return fd;
}

int main(int argc, char **argv)
{
	long backlog = 5, beyond = 13, twin = 0, dropped = 0;
	bool wait = parse_options(argc, argv,
				  KNOBS(NUMBER("backlog", backlog, "length of the accept queue asked for"),
					NUMBER("beyond", beyond, "connections it has no room for"),
					NUMBER("twin", twin, "1: the queue has room for all of them")));
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = CHECK(socket(AF_INET, SOCK_STREAM, 0));
	socklen_t length = sizeof(address);
	char byte;

	CHECK(bind(listener, (struct sockaddr *)&address, length));
	CHECK(listen(listener, twin ? backlog + beyond : backlog));
	CHECK(getsockname(listener, (struct sockaddr *)&address, &length));
	start_work(wait);
	for (long i = 0; i < backlog + 1; i++) /* the kernel takes one more than asked for */
		connect_to(&address, 0);
	for (long i = 0; i < beyond; i++) {
		struct pollfd connected = { .fd = connect_to(&address, SOCK_NONBLOCK), .events = POLLOUT };

		if (CHECK(poll(&connected, 1, 10)) == 0) {
			dropped++;
			close(connected.fd); /* before it asks again */
		}
	}
	while (read(0, &byte, 1) > 0) /* the end of stdin: whoever watches has seen the queue */
		;
	PRINT_TRUTH({ "dropped", dropped }, { "port", ntohs(address.sin_port) });
	return 0;
}
