// SPDX-License-Identifier: GPL-2.0-only
// PORT PROTOCOL: answers from urgent threads with what a slow, unimportant one gathers under the same mutex.
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t bus;
static int listener;
static char readings[4096];

static long cpu_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void *gather_weather(void *unused)
{
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 19);
	for (;;) {
		pthread_mutex_lock(&bus);
		for (long end = cpu_us() + 10000; cpu_us() < end;)
			for (unsigned i = 0; i < sizeof readings; i++)
				readings[i] = (char)(readings[i] * 5 + 1);
		pthread_mutex_unlock(&bus);
		usleep(2000);
	}
	return unused;
}

static void *serve(void *unused)
{
	for (;;) {
		char request[2000], copy[sizeof readings];
		int client = accept(listener, NULL, NULL);
		if (client < 0 || read(client, request, sizeof request) < 0)
			continue;
		pthread_mutex_lock(&bus);
		memcpy(copy, readings, sizeof copy);
		pthread_mutex_unlock(&bus);
		dprintf(client, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\n%03u\n", copy[7] & 255u);
		close(client);
	}
	return unused;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	pthread_mutexattr_t kind;
	pthread_mutexattr_init(&kind);
	pthread_mutexattr_setprotocol(&kind, strcmp(argv[2], "inherit") ? PTHREAD_PRIO_NONE : PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&bus, &kind);
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1]))};
	here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	if (bind(listener, (struct sockaddr *)&here, sizeof here) || listen(listener, 128))
		return 1;
	pthread_attr_t urgent;
	pthread_attr_init(&urgent);
	pthread_attr_setinheritsched(&urgent, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&urgent, SCHED_FIFO);
	pthread_attr_setschedparam(&urgent, &(struct sched_param){.sched_priority = 30});
	pthread_t thread;
	pthread_create(&thread, NULL, gather_weather, NULL);
	for (int i = 0; i < 4; i++)
		if (pthread_create(&thread, &urgent, serve, NULL))
			return 1;
	pthread_join(thread, NULL);
	return 0;
}
