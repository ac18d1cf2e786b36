/* SPDX-License-Identifier: GPL-2.0-only */
/* LIBS: -luring */
/*
 * uring - waits for io_uring completions: of reads from a file (requests in flight), or of a receive on a socket that
 * stays silent.
 */
#include "workload.h"
#include <liburing.h>
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
		uint64_t begin = now_ns();

		io_uring_prep_read(io_uring_get_sqe(ring), fd, block, 4096, at);
		io_uring_submit(ring);
		wait_for(ring);
		wait_ns += now_ns() - begin;
	}
	return wait_ns;
}

static uint64_t receive_from_socket(struct io_uring *ring, long silence_ms, void *block)
{
	int pair[2];
	uint64_t begin;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	if (CHECK(fork()) == 0) {
		sleep_ns(silence_ms * MILLISECOND);
		_exit(write(pair[1], "x", 1) != 1);
	}
	begin = now_ns();
	io_uring_prep_recv(io_uring_get_sqe(ring), pair[0], block, 4096, 0);
	io_uring_submit(ring);
	wait_for(ring);
	return now_ns() - begin;
}

int main(int argc, char **argv)
{
	const char *path = "read.data", *mode = "read";
	long count = 211, stride = 1 << 20, silence_ms = 1000;
	bool wait = parse_options(argc, argv,
				  KNOBS(TEXT("mode", mode, "read or socket"), TEXT("file", path, "file to read"),
					NUMBER("count", count, "how many reads"),
					NUMBER("stride", stride, "their distance"),
					NUMBER("silence-ms", silence_ms, "how long the socket's peer is silent")));
	struct io_uring ring;
	void *block;
	uint64_t wait_ns;

	errno = posix_memalign(&block, 4096, 4096);
	if (!errno)
		errno = -io_uring_queue_init(8, &ring, 0);
	if (errno)
		die("io_uring_queue_init");
	start_work(wait);
	if (!strcmp(mode, "read"))
		wait_ns = read_file(&ring, path, count, stride, block);
	else
		wait_ns = receive_from_socket(&ring, silence_ms, block);
	PRINT_TRUTH({ "count", strcmp(mode, "read") ? 1 : count }, { "wait_ns", wait_ns });
	return 0;
}
