/* SPDX-License-Identifier: GPL-2.0-only */
/* server PORT own|shared: one thread reads, one works, one looks after a cache of which nothing ever expires. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_there = PTHREAD_COND_INITIALIZER, cache_changed = PTHREAD_COND_INITIALIZER;
static pthread_cond_t *cache_waits_at = &cache_changed;
static int waiting[MOST];
static unsigned first, last;
static bool expired;

static void *look_after_cache(void *unused)
{
	pthread_mutex_lock(&lock);
	while (!expired)
		pthread_cond_wait(cache_waits_at, &lock);
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *work(void *unused)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ndone\n";

	while (true) {
		struct timespec until;
		int connection = -1;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 250000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_mutex_lock(&lock);
		if (first == last)
			pthread_cond_timedwait(&work_there, &lock, &until);
		if (first != last)
			connection = waiting[first++ % MOST];
		pthread_mutex_unlock(&lock);
		if (connection >= 0 && write(connection, answer, strlen(answer)) < 0)
			close(connection);
	}
	return unused;
}

static void hand_over(int connection)
{
	pthread_mutex_lock(&lock);
	waiting[last++ % MOST] = connection;
	pthread_cond_signal(&work_there);
	pthread_mutex_unlock(&lock);
}

static int listen_on(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };
	int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 128))
		exit(1);
	return listener;
}

int main(int count, char **words)
{
	int listener = listen_on(atoi(words[1])), epoll = epoll_create1(0);
	struct epoll_event event = { .events = EPOLLIN, .data.fd = listener };
	pthread_t thread;

	if (count > 2 && !strcmp(words[2], "shared"))
		cache_waits_at = &work_there;
	pthread_create(&thread, NULL, look_after_cache, NULL);
	pthread_create(&thread, NULL, work, NULL);
	epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
	while (true) {
		char request[8192];

		if (epoll_wait(epoll, &event, 1, -1) < 1)
			continue;
		if (event.data.fd == listener) {
			event = (struct epoll_event){ .events = EPOLLIN, .data.fd = accept(listener, NULL, NULL) };
			epoll_ctl(epoll, EPOLL_CTL_ADD, event.data.fd, &event);
		} else if (read(event.data.fd, request, sizeof(request)) > 0) {
			hand_over(event.data.fd);
		} else {
			close(event.data.fd);
		}
	}
}
