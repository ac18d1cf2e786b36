/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * send - sends to a peer that reads slowly through a small window: net.send, limited by the receiver.
 */
#include "workload.h"
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

static void receive_slowly(int listener, long bytes_per_ms)
{
	char *buffer = malloc(bytes_per_ms);
	int fd;

	prctl(PR_SET_NAME, "slow-receiver");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = CHECK(accept(listener, NULL, NULL));
	while (read(fd, buffer, bytes_per_ms) > 0)
		sleep_ns(MILLISECOND);
	_exit(0);
}

int main(int argc, char **argv)
{
	enum { CHUNK = 65536 };
	const char *mode = "send", *path = "read.data";
	long bytes = 4 << 20, bytes_per_ms = 3001, window = 4096;
	bool wait =
		parse_options(argc, argv,
			      KNOBS(TEXT("mode", mode, "send or sendfile"), TEXT("file", path, "file for sendfile"),
				    NUMBER("bytes", bytes, "to send"), NUMBER("bytes-per-ms", bytes_per_ms, "taken"),
				    NUMBER("window", window, "the receiver's buffer")));
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = CHECK(socket(AF_INET, SOCK_STREAM, 0)), fd = CHECK(socket(AF_INET, SOCK_STREAM, 0));
	int size = window, send_size = 65536, file = -1;
	socklen_t length = sizeof(address);
	uint64_t send_ns = 0, calls = 0;
	char *data = calloc(1, CHUNK);

	if (!strcmp(mode, "sendfile"))
		file = CHECK(open(path, O_RDONLY));
	CHECK(setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)));
	CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_size, sizeof(send_size)));
	CHECK(bind(listener, (struct sockaddr *)&address, length));
	CHECK(listen(listener, 1));
	CHECK(getsockname(listener, (struct sockaddr *)&address, &length));
	if (CHECK(fork()) == 0)
		receive_slowly(listener, bytes_per_ms);
	CHECK(connect(fd, (struct sockaddr *)&address, length));
	start_work(wait);
	for (long sent = 0; sent < bytes; calls++) {
		uint64_t begin = now_ns();
		off_t at = 0;

		sent += CHECK(file >= 0 ? sendfile(fd, file, &at, CHUNK) : send(fd, data, CHUNK, 0));
		send_ns += now_ns() - begin;
	}
	PRINT_TRUTH({ "calls", calls }, { "send_ns", send_ns }, { "port", ntohs(address.sin_port) });
	return 0;
}
