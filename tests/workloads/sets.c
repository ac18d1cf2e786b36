/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sets - waits for answers in poll, select or epoll, with other descriptors in the set.  Each letter of --set is one:
 *
 *   a  a connection, whose server is asked and answers after 20 ms; several: one after the other
 *   b  the same at another port, asked together with the first a
 *   u  the same at a unix socket
 *   i  a connection that is open, with nothing asked
 *   n  a connection on which news come every 20 ms, unasked
 *   l  a listening socket      c  an accepted connection whose client is silent
 *   e  an eventfd              t  a timerfd
 *   p  a pipe of its own       f  a pipe that another process writes to
 *   s  a pair of sockets of its own
 */
#include "workload.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>

#define MOST 40
#define ANSWER_NS (20 * MILLISECOND)

static struct item {
	char kind;
	int fd;
} items[MOST];
static int item_count, epoll;
static const char *call = "poll";

static struct server {
	struct sockaddr_storage address;
	socklen_t length;
	int listener;
} servers[3];

/* Answers 'a' after a while and 'i' at once; after 'n' sends news for ever. */
static void serve_one(int fd)
{
	char byte;

	while (read(fd, &byte, 1) == 1) {
		do {
			if (byte != 'i')
				sleep_ns(ANSWER_NS);
		} while (write(fd, &byte, 1) == 1 && byte == 'n');
	}
	_exit(0);
}

static void serve(struct server *server, int family)
{
	struct sockaddr_in *internet = (struct sockaddr_in *)&server->address;

	server->address.ss_family = family;
	server->length = family == AF_UNIX ? sizeof(sa_family_t) : sizeof(*internet);
	if (family == AF_INET)
		internet->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	server->listener = CHECK(socket(family, SOCK_STREAM, 0));
	CHECK(bind(server->listener, (struct sockaddr *)&server->address, server->length));
	CHECK(listen(server->listener, MOST));
	server->length = sizeof(server->address);
	CHECK(getsockname(server->listener, (struct sockaddr *)&server->address, &server->length));
}

static void run_server(struct server *server)
{
	if (CHECK(fork()))
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int fd = CHECK(accept(server->listener, NULL, NULL));

		if (CHECK(fork()) == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			serve_one(fd);
		}
		close(fd);
	}
}

static int connected(struct server *server)
{
	int fd = CHECK(socket(server->address.ss_family, SOCK_STREAM, 0)), on = 1;

	CHECK(connect(fd, (struct sockaddr *)&server->address, server->length));
	if (server->address.ss_family == AF_INET)
		CHECK(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)));
	return fd;
}

static int listening(struct server *server)
{
	serve(server, AF_INET);
	return server->listener;
}

static int accepted(void)
{
	struct server own = {};

	listening(&own);
	connected(&own);
	return CHECK(accept(own.listener, NULL, NULL));
}

static int foreign_pipe(void)
{
	int fds[2];

	CHECK(pipe(fds));
	if (CHECK(fork()) == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	close(fds[1]);
	return fds[0];
}

static int open_item(char kind)
{
	struct server own = {};
	int fds[2];

	switch (kind) {
	case 'a':
	case 'i':
	case 'n': return connected(&servers[0]);
	case 'b': return connected(&servers[1]);
	case 'u': return connected(&servers[2]);
	case 'l': return listening(&own);
	case 'c': return accepted();
	case 'e': return CHECK(eventfd(0, 0));
	case 't': return CHECK(timerfd_create(CLOCK_MONOTONIC, 0));
	case 'p': CHECK(pipe(fds)); return fds[0];
	case 's': CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds)); return fds[0];
	case 'f': return foreign_pipe();
	}
	errno = EINVAL;
	die("--set");
	return -1;
}

static bool is_asked(char kind)
{
	return kind == 'a' || kind == 'b' || kind == 'u';
}

static void wait_in_select(void)
{
	fd_set set;
	int most = 0;

	FD_ZERO(&set);
	for (int i = 0; i < item_count; i++) {
		FD_SET(items[i].fd, &set);
		most = items[i].fd > most ? items[i].fd : most;
	}
	CHECK(select(most + 1, &set, NULL, NULL, NULL));
}

static void wait_for_any(void)
{
	struct pollfd fds[MOST];
	struct epoll_event event;

	for (int i = 0; i < item_count; i++)
		fds[i] = (struct pollfd){ .fd = items[i].fd, .events = POLLIN };
	if (!strcmp(call, "epoll"))
		CHECK(epoll_wait(epoll, &event, 1, -1));
	else if (!strcmp(call, "select"))
		wait_in_select();
	else
		CHECK(poll(fds, item_count, -1));
}

/* Reads what has come; returns how many answers or pieces of news that was. */
static int read_all(void)
{
	int came = 0;
	char byte;

	for (int i = 0; i < item_count; i++)
		if (is_asked(items[i].kind) || items[i].kind == 'n')
			came += recv(items[i].fd, &byte, 1, MSG_DONTWAIT) == 1;
	return came;
}

static void send_to(struct item *item, char byte)
{
	if (write(item->fd, &byte, 1) != 1)
		die("write");
}

static uint64_t wait_for(int answers)
{
	uint64_t begin = now_ns();

	while (answers > 0) {
		wait_for_any();
		answers -= read_all();
	}
	return now_ns() - begin;
}

static void make_known(struct item *item)
{
	char byte;

	if (item->kind == 'n')
		send_to(item, 'n');
	if (item->kind != 'i')
		return;
	send_to(item, 'i');
	if (read(item->fd, &byte, 1) != 1)
		die("read");
}

/* Asks each a in turn, and the b together with the first. */
static uint64_t ask(void)
{
	struct item *last = NULL;
	uint64_t wait_ns = 0;

	for (int i = 0; i < item_count; i++) {
		if (items[i].kind == 'b')
			last = &items[i];
	}
	for (int i = 0; i < item_count; i++) {
		if (items[i].kind != 'a' && items[i].kind != 'u')
			continue;
		send_to(&items[i], 'a');
		if (last)
			send_to(last, 'a');
		wait_ns += wait_for(last ? 2 : 1);
		last = NULL;
	}
	return wait_ns;
}

int main(int argc, char **argv)
{
	const char *set = "ae";
	long count = 17;
	bool wait = parse_options(argc, argv,
				  KNOBS(NUMBER("count", count, "rounds"), TEXT("set", set, "what is in it, see above"),
					TEXT("call", call, "poll, select or epoll")));
	uint64_t wait_ns = 0;

	for (int i = 0; i < 3; i++) {
		serve(&servers[i], i < 2 ? AF_INET : AF_UNIX);
		run_server(&servers[i]);
	}
	epoll = CHECK(epoll_create1(0));
	for (; item_count < MOST && set[item_count]; item_count++) {
		struct item *item = &items[item_count];

		*item = (struct item){ set[item_count], open_item(set[item_count]) };
		CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, item->fd, &(struct epoll_event){ .events = EPOLLIN }));
	}
	start_work(wait);
	for (int i = 0; i < item_count; i++)
		make_known(&items[i]);
	for (long i = 0; i < count; i++)
		wait_ns += strchr(set, 'n') ? wait_for(1) : ask();
	PRINT_TRUTH({ "count", count }, { "wait_ns", wait_ns },
		    { "port", ntohs(((struct sockaddr_in *)&servers[0].address)->sin_port) });
	return 0;
}
