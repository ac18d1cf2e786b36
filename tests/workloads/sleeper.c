/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sleeper - one thread for each way to wait, blocked before the start and until the end of stdin: every one of them
 * has one open wait for the whole recording.  A thread is named after its way; the test knows the account of each.
 */
#include "workload.h"
#include <mqueue.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>

static int pipe_fds[2], unix_fds[2], client, listener, lock_fd;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char byte;

static void in_nanosleep(void)
{
	sleep_ns(600 * SECOND);
}

static void in_epoll(void)
{
	struct epoll_event event;
	int fd = epoll_create1(0);

	epoll_ctl(fd, EPOLL_CTL_ADD, pipe_fds[0], &(struct epoll_event){ .events = EPOLLIN });
	while (epoll_wait(fd, &event, 1, -1) < 0) /* a stop interrupts it */
		CHECK(errno == EINTR ? 0 : -1);
}

static void in_poll(void)
{
	struct pollfd fds[] = { { .fd = pipe_fds[0], .events = POLLIN }, { .fd = unix_fds[0], .events = POLLIN } };

	poll(fds, 2, -1);
}

static void in_select(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(pipe_fds[0], &set);
	FD_SET(unix_fds[0], &set);
	select(FD_SETSIZE, &set, NULL, NULL, NULL);
}

static void in_empty_poll(void)
{
	poll(NULL, 0, 600 * 1000);
}

static void in_empty_select(void)
{
	select(0, NULL, NULL, NULL, &(struct timeval){ .tv_sec = 600 });
}

static void in_pipe(void)
{
	if (read(pipe_fds[0], &byte, 1) < 0)
		die("read");
}

static void in_unix(void)
{
	recv(unix_fds[0], &byte, 1, 0);
}

static void in_tcp(void)
{
	recv(client, &byte, 1, 0);
}

static void in_accept(void)
{
	accept(listener, NULL, NULL);
}

static void in_eventfd(void)
{
	eventfd_t value;

	eventfd_read(eventfd(0, 0), &value);
}

static void in_inotify(void)
{
	if (read(inotify_init(), &byte, 1) < 0)
		die("read");
}

static void in_signal(void)
{
	sigset_t set;
	int number;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigwait(&set, &number);
}

static void in_futex(void)
{
	pthread_mutex_lock(&mutex);
}

static void in_timed_futex(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 600;
	pthread_mutex_timedlock(&mutex, &until);
}

static void in_flock(void)
{
	flock(open("/proc/self/exe", O_RDONLY), LOCK_EX);
}

static void in_message(void)
{
	struct mq_attr attributes = { .mq_maxmsg = 1, .mq_msgsize = 1 };
	mqd_t queue = CHECK(mq_open("/perfdiag-sleeper", O_RDONLY | O_CREAT, 0600, &attributes));

	mq_unlink("/perfdiag-sleeper");
	mq_receive(queue, &byte, 1, NULL);
}

static void in_child(void)
{
	waitpid(-1, NULL, 0);
}

static const struct way {
	const char *name;
	void (*function)(void);
} ways[] = {
	{ "in-nanosleep", in_nanosleep },
	{ "in-epoll", in_epoll },
	{ "in-poll", in_poll },
	{ "in-select", in_select },
	{ "in-empty-poll", in_empty_poll },
	{ "in-empty-select", in_empty_select },
	{ "in-pipe", in_pipe },
	{ "in-unix", in_unix },
	{ "in-tcp", in_tcp },
	{ "in-accept", in_accept },
	{ "in-eventfd", in_eventfd },
	{ "in-inotify", in_inotify },
	{ "in-signal", in_signal },
	{ "in-futex", in_futex },
	{ "in-timed-futex", in_timed_futex },
	{ "in-flock", in_flock },
	{ "in-message", in_message },
	{ "in-child", in_child },
};

static void *sleep_its_way(void *argument)
{
	const struct way *way = argument;

	prctl(PR_SET_NAME, way->name);
	way->function();
	return NULL;
}

/* A connected TCP socket whose peer is silent, and a listening one that nobody calls. */
static void open_sockets(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);

	listener = CHECK(socket(AF_INET, SOCK_STREAM, 0));
	CHECK(bind(listener, (struct sockaddr *)&address, length));
	CHECK(listen(listener, 1));
	CHECK(getsockname(listener, (struct sockaddr *)&address, &length));
	client = CHECK(socket(AF_INET, SOCK_STREAM, 0));
	CHECK(connect(client, (struct sockaddr *)&address, length));
	CHECK(accept(listener, NULL, NULL));
}

int main(int argc, char **argv)
{
	const size_t count = sizeof(ways) / sizeof(ways[0]);
	bool wait = parse_options(argc, argv, KNOBS({ NULL, NULL, NULL, NULL }));

	CHECK(pipe(pipe_fds));
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, unix_fds));
	open_sockets();
	pthread_mutex_lock(&mutex);
	lock_fd = CHECK(open("/proc/self/exe", O_RDONLY));
	CHECK(flock(lock_fd, LOCK_EX));
	if (CHECK(fork()) == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "child");
		for (;;)
			pause();
	}
	for (size_t i = 0; i < count; i++)
		start_thread(sleep_its_way, (void *)&ways[i]);
	sleep_ns(200 * MILLISECOND); /* until all of them are where they belong */
	start_work(wait);
	while (read(0, &byte, 1) > 0)
		;
	PRINT_TRUTH({ "threads", count });
	return 0;
}
