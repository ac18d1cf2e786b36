// SPDX-License-Identifier: GPL-2.0-only
/* server PORT: sends a report of 8 pieces, one each millisecond, as one who shares a line paces himself. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PIECES = 8, PIECE_BYTES = 1000 };

static int read_request(int connection)
{
	char text[4096] = "";
	size_t length = 0;
	while (!strstr(text, "\r\n\r\n")) {
		ssize_t got = read(connection, text + length, sizeof(text) - 1 - length);
		if (got <= 0)
			return 0;
		length += got;
		text[length] = 0;
	}
	return 1;
}

static void pace(void)
{
	struct timespec pause = {.tv_nsec = 1000000};
	nanosleep(&pause, NULL);
}

static void *serve(void *argument)
{
	int connection = (int)(long)argument;
	char head[80], piece[PIECE_BYTES];
	memset(piece, 'x', sizeof(piece));
	int length = snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", PIECES * PIECE_BYTES);
	while (read_request(connection)) {
		if (write(connection, head, length) < 0)
			break;
		for (int number = 0; number < PIECES; number++) {
			if (write(connection, piece, sizeof(piece)) < 0)
				break;
			pace();
		}
	}
	close(connection);
	return NULL;
}

int main(int count, char **words)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(count > 1 ? atoi(words[1]) : 0)};
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 64))
		return 1;
	while (1) {
		int connection = accept(listener, NULL, NULL);
		pthread_t thread;
		if (connection < 0)
			continue;
		setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
		if (pthread_create(&thread, NULL, serve, (void *)(long)connection))
			close(connection);
		else
			pthread_detach(thread);
	}
}
