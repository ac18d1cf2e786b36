/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ring_server - answers HTTP/1.1 requests that it takes and answers by a ring of io_uring, and sleeps over each; with
 * --poller 1 a thread of the kernel receives and sends for it (SQPOLL).  A child process asks one after the other.
 */
#include "workload.h"
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <sys/socket.h>

#define REQUEST "GET /ring HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define ENTRIES 4

struct ring {
	int fd;
	bool polled;
	unsigned int *tail, *flags, *array, *taken, *completed;
	unsigned int mask, completed_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

static void set_up(struct ring *ring, bool polled)
{
	struct io_uring_params params = { .flags = polled ? IORING_SETUP_SQPOLL : 0, .sq_thread_idle = 2000 };
	size_t size, cqes_size;
	char *map;

	ring->polled = polled;
	ring->fd = CHECK((int)syscall(SYS_io_uring_setup, ENTRIES, &params));
	size = params.sq_off.array + params.sq_entries * sizeof(unsigned int);
	cqes_size = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
	if (cqes_size > size)
		size = cqes_size;
	/* Both rings are in one mapping since Linux 5.4. */
	map = CHECK(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQ_RING));
	ring->sqes = CHECK(mmap(NULL, params.sq_entries * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE,
				MAP_SHARED, ring->fd, IORING_OFF_SQES));
	ring->tail = (void *)(map + params.sq_off.tail);
	ring->flags = (void *)(map + params.sq_off.flags);
	ring->array = (void *)(map + params.sq_off.array);
	ring->mask = *(unsigned int *)(map + params.sq_off.ring_mask);
	ring->taken = (void *)(map + params.cq_off.head);
	ring->completed = (void *)(map + params.cq_off.tail);
	ring->completed_mask = *(unsigned int *)(map + params.cq_off.ring_mask);
	ring->cqes = (void *)(map + params.cq_off.cqes);
}

/* Returns the result of the one operation that is under way. */
static int complete(struct ring *ring, unsigned int submit)
{
	unsigned int flags = IORING_ENTER_GETEVENTS;
	int result;

	/* A poller that has gone to sleep is woken. */
	if (ring->polled && __atomic_load_n(ring->flags, __ATOMIC_SEQ_CST) & IORING_SQ_NEED_WAKEUP)
		flags |= IORING_ENTER_SQ_WAKEUP;
	while (__atomic_load_n(ring->completed, __ATOMIC_ACQUIRE) == *ring->taken) {
		CHECK(syscall(SYS_io_uring_enter, ring->fd, submit, 1, flags, NULL, 0));
		submit = 0;
	}
	result = ring->cqes[*ring->taken & ring->completed_mask].res;
	__atomic_store_n(ring->taken, *ring->taken + 1, __ATOMIC_RELEASE);
	errno = result < 0 ? -result : 0;
	if (errno)
		die("io_uring");
	return result;
}

static int run(struct ring *ring, int operation, int fd, void *buffer, size_t size)
{
	unsigned int place = *ring->tail & ring->mask;

	ring->sqes[place] =
		(struct io_uring_sqe){ .opcode = operation, .fd = fd, .addr = (uintptr_t)buffer, .len = size };
	ring->array[place] = place;
	__atomic_store_n(ring->tail, *ring->tail + 1, __ATOMIC_SEQ_CST);
	return complete(ring, ring->polled ? 0 : 1);
}

static int ask(const struct sockaddr_in *address, int go, long count)
{
	int fd = CHECK(socket(AF_INET, SOCK_STREAM, 0));
	char answer[512];

	CHECK(connect(fd, (const struct sockaddr *)address, sizeof(*address)));
	if (read(go, answer, 1) != 1) /* the connection stays until then, and nothing is asked */
		return 1;
	for (long i = 0; i < count; i++)
		if (write(fd, REQUEST, strlen(REQUEST)) <= 0 || read(fd, answer, sizeof(answer)) <= 0)
			return 1;
	return 0;
}

/* Returns the server's end of the connection of a child, which asks when it is told to. */
static int start_client(int go[2], long count)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = CHECK(socket(AF_INET, SOCK_STREAM, 0));
	socklen_t length = sizeof(address);

	CHECK(bind(listener, (struct sockaddr *)&address, length));
	CHECK(listen(listener, 1));
	CHECK(getsockname(listener, (struct sockaddr *)&address, &length));
	CHECK(pipe(go));
	if (!CHECK(fork())) {
		close(go[1]);
		close(listener);
		_exit(ask(&address, go[0], count));
	}
	return CHECK(accept(listener, NULL, NULL));
}

int main(int argc, char **argv)
{
	long count = 61, sleep_us = 5000, polled = 1;
	bool wait = parse_options(argc, argv,
				  KNOBS(NUMBER("count", count, "how many requests"),
					NUMBER("sleep-us", sleep_us, "how long it sleeps over each"),
					NUMBER("poller", polled, "1: the kernel's thread receives and sends")));
	struct ring ring;
	char request[512];
	int go[2], fd = start_client(go, count);

	set_up(&ring, polled);
	start_work(wait);
	if (write(go[1], "", 1) != 1)
		die("write");
	for (long i = 0; i < count; i++) {
		if (run(&ring, IORING_OP_RECV, fd, request, sizeof(request)) <= 0)
			die("recv");
		sleep_ns(sleep_us * 1000);
		run(&ring, IORING_OP_SEND, fd, ANSWER, strlen(ANSWER));
	}
	PRINT_TRUTH({ "count", count });
	return 0;
}
