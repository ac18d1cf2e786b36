/* SPDX-License-Identifier: GPL-2.0-only */
/* LIBS: -luring */
/*
 * uring - waits for io_uring completions: of reads from a file, or of requests that stay armed because nobody wants
 * anything, or of none.
 */
#include "workload.h"
#include <liburing.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

static void wait_for(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;
	int result = io_uring_wait_cqe(ring, &cqe);

	errno = result < 0 ? -result : cqe->res < 0 ? -cqe->res : 0;
	if (errno)
		die("io_uring");
	io_uring_cqe_seen(ring, cqe);
}

static uint64_t read_file(struct io_uring *ring, const char *path, long count, long stride, void *block)
{
	int fd = CHECK(open(path, O_RDONLY | O_DIRECT));
	off_t size = CHECK(lseek(fd, 0, SEEK_END));
	uint64_t wait_ns = 0;

	for (long i = 0; i < count; i++) {
		off_t at = size > stride ? i * stride % (size - size % stride) : 0;
		uint64_t begin;

		io_uring_prep_read(io_uring_get_sqe(ring), fd, block, 4096, at);
		io_uring_submit(ring); /* may read the file's metadata itself */
		begin = now_ns();
		wait_for(ring);
		wait_ns += now_ns() - begin;
	}
	return wait_ns;
}

static int listening(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = CHECK(socket(AF_INET, SOCK_STREAM, 0));

	CHECK(bind(fd, (struct sockaddr *)&address, sizeof(address)));
	CHECK(listen(fd, 1));
	return fd;
}

/* The ring has completed more than it was given afterwards. */
static void poll_many_times(struct io_uring *ring)
{
	int pipe_fds[2];
	char byte = 0;

	CHECK(pipe(pipe_fds));
	io_uring_prep_poll_multishot(io_uring_get_sqe(ring), pipe_fds[0], POLLIN);
	io_uring_submit(ring);
	for (int i = 0; i < 3; i++) {
		if (write(pipe_fds[1], &byte, 1) != 1)
			die("write");
		wait_for(ring);
		if (read(pipe_fds[0], &byte, 1) != 1)
			die("read");
	}
}

static void arm(struct io_uring *ring, const char *what, void *block)
{
	static struct __kernel_timespec hour = { .tv_sec = 3600 };
	struct io_uring_sqe *sqe;
	int pair[2];

	if (!strcmp(what, "nothing"))
		return;
	if (!strcmp(what, "poll")) {
		poll_many_times(ring);
		return;
	}
	sqe = io_uring_get_sqe(ring);
	if (!strcmp(what, "accept")) {
		io_uring_prep_accept(sqe, listening(), NULL, NULL, 0);
	} else if (!strcmp(what, "timeout")) {
		io_uring_prep_timeout(sqe, &hour, 0, 0);
	} else if (!strcmp(what, "send")) {
		CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
		while (send(pair[0], block, 4096, MSG_DONTWAIT) > 0)
			;
		io_uring_prep_send(sqe, pair[0], block, 4096, 0);
	} else { /* receive, and what follows it */
		CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
		io_uring_prep_recv(sqe, pair[0], block, 4096, 0);
		sqe->flags |= IOSQE_IO_LINK;
		io_uring_prep_nop(io_uring_get_sqe(ring));
	}
	io_uring_submit(ring);
}

static uint64_t wait_in_vain(struct io_uring *ring, long silence_ms)
{
	struct __kernel_timespec limit = { silence_ms / 1000, silence_ms % 1000 * MILLISECOND };
	struct io_uring_cqe *cqe;
	uint64_t begin = now_ns();
	int result = io_uring_wait_cqe_timeout(ring, &cqe, &limit);

	if (result != -ETIME) {
		errno = -result;
		die("io_uring_wait_cqe_timeout");
	}
	return now_ns() - begin;
}

int main(int argc, char **argv)
{
	const char *path = "read.data", *armed = "nothing";
	long count = 211, stride = 1 << 20, silence_ms = 0, times = 1, registered = 0;
	bool wait = parse_options(
		argc, argv,
		KNOBS(TEXT("file", path, "file to read"), NUMBER("count", count, "how many reads"),
		      NUMBER("stride", stride, "their distance"),
		      TEXT("armed", armed, "what else it waits for: nothing, poll, accept, receive, send, timeout"),
		      NUMBER("times", times, "how many of these"),
		      NUMBER("silence-ms", silence_ms, "how long it waits without reading anything; 0: it reads"),
		      NUMBER("registered", registered, "1: it is named by its place among those registered")));
	struct io_uring ring;
	void *block;
	uint64_t wait_ns;

	errno = posix_memalign(&block, 4096, 4096);
	if (!errno)
		errno = -io_uring_queue_init(8, &ring, 0);
	if (errno)
		die("io_uring_queue_init");
	if (registered && io_uring_register_ring_fd(&ring) != 1)
		die("io_uring_register_ring_fd");
	start_work(wait);
	if (registered) /* at the descriptor of that number is a file that is no ring */
		CHECK(dup2(CHECK(open("/dev/null", O_RDONLY)), ring.enter_ring_fd));
	for (long i = 0; i < times; i++)
		arm(&ring, armed, block);
	wait_ns = silence_ms ? wait_in_vain(&ring, silence_ms) : read_file(&ring, path, count, stride, block);
	PRINT_TRUTH({ "count", silence_ms ? 1 : count }, { "wait_ns", wait_ns });
	return 0;
}
