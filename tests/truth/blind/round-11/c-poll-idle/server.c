// SPDX-License-Identifier: GPL-2.0-only
// server PORT poll|epoll: one thread, and as many connections as there are.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 40000 };
static struct pollfd waiting[MOST];
static int count, instance, with_epoll;

static int listen_on(int port)
{
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), yes = 1;
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 4096))
		exit(1);
	return listener;
}

static void add(int descriptor)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = descriptor };
	if (with_epoll)
		epoll_ctl(instance, EPOLL_CTL_ADD, descriptor, &event);
	else if (count < MOST)
		waiting[count++] = (struct pollfd){ .fd = descriptor, .events = POLLIN };
}

static int handle(int descriptor, int listener)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n";
	char text[4096];
	int yes = 1;
	if (descriptor == listener) {
		for (int connection; (connection = accept(listener, NULL, NULL)) >= 0;) {
			setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
			add(connection);
		}
		return 1;
	}
	if (read(descriptor, text, sizeof(text)) > 0)
		return write(descriptor, answer, strlen(answer)) > 0;
	close(descriptor);
	return 0;
}

static void serve_with_poll(int listener)
{
	for (;;) {
		int ready = poll(waiting, count, -1);
		for (int index = 0; index < count && ready > 0; index++) {
			if (!waiting[index].revents)
				continue;
			ready--;
			waiting[index].revents = 0;
			if (!handle(waiting[index].fd, listener))
				waiting[index--] = waiting[--count];
		}
	}
}

static void serve_with_epoll(int listener)
{
	struct epoll_event events[64];
	for (;;) {
		int ready = epoll_wait(instance, events, 64, -1);
		for (int index = 0; index < ready; index++)
			handle(events[index].data.fd, listener);
	}
}

int main(int argc, char **words)
{
	int listener = listen_on(atoi(words[1]));
	with_epoll = argc > 2 && !strcmp(words[2], "epoll");
	instance = epoll_create1(0);
	add(listener);
	if (with_epoll)
		serve_with_epoll(listener);
	serve_with_poll(listener);
}
