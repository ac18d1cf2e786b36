/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * peer - a TCP client whose server answers after 50 ms: time goes to net.receive, with the peer as its object.  The
 * server is a child process, forked before the start: record the client alone with --only.  With --how news it sends
 * every 50 ms once it was asked.
 */
#include "workload.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#define QUESTION_BYTES 100 /* as of a small request: what is as short as an acknowledgement may be one */

static void serve(int listener, long answer_ms, bool asked)
{
	bool asked_before = false;
	char question[QUESTION_BYTES];
	int fd;

	prctl(PR_SET_NAME, "peer-server");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = CHECK(accept(listener, NULL, NULL));
	while ((!asked && asked_before) || read(fd, question, sizeof(question)) == sizeof(question)) {
		asked_before = true;
		sleep_ns(answer_ms * MILLISECOND);
		if (write(fd, "x", 1) != 1)
			break;
	}
	_exit(0);
}

/* Waits inside the read itself, or in poll for the one socket. */
static void receive(int fd, const char *how)
{
	struct pollfd wanted = { .fd = fd, .events = POLLIN };
	char byte;

	if (!strcmp(how, "poll"))
		CHECK(poll(&wanted, 1, -1));
	if (read(fd, &byte, 1) != 1)
		die("read");
}

int main(int argc, char **argv)
{
	const char *how = "read";
	long count = 23, answer_ms = 50;
	bool wait = parse_options(argc, argv,
				  KNOBS(NUMBER("count", count, "requests"),
					NUMBER("answer-ms", answer_ms, "time to answer"),
					TEXT("how", how, "the client waits in read or poll, or for news")));
	bool asks = strcmp(how, "news");
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);
	int listener = CHECK(socket(AF_INET, SOCK_STREAM, 0)), fd = CHECK(socket(AF_INET, SOCK_STREAM, 0));
	char question[QUESTION_BYTES] = "x";
	int on = 1;
	uint64_t wait_ns = 0;

	CHECK(bind(listener, (struct sockaddr *)&address, length));
	CHECK(listen(listener, 1));
	CHECK(getsockname(listener, (struct sockaddr *)&address, &length));
	if (CHECK(fork()) == 0)
		serve(listener, answer_ms, asks);
	close(listener);
	CHECK(connect(fd, (struct sockaddr *)&address, length));
	CHECK(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)));
	start_work(wait);
	for (long i = 0; i < count; i++) {
		uint64_t begin;

		if ((asks || i == 0) && write(fd, question, sizeof(question)) != sizeof(question))
			die("write");
		begin = now_ns();
		receive(fd, how);
		wait_ns += now_ns() - begin;
	}
	PRINT_TRUTH({ "count", count }, { "wait_ns", wait_ns }, { "port", ntohs(address.sin_port) });
	return 0;
}
