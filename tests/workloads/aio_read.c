/* SPDX-License-Identifier: GPL-2.0-only */
/* LIBS: -laio */
/*
 * aio_read - reads N blocks with libaio and waits for each: time goes to wait.io_uring, requests in flight.  Then it can
 * wait for nothing: with none in flight, or with a poll only.
 */
#include "workload.h"
#include <libaio.h>
#include <poll.h>

static void submit(io_context_t context, struct iocb *request)
{
	errno = 0;
	if (io_submit(context, 1, &request) != 1)
		die("io_submit");
}

static uint64_t wait_in_vain(io_context_t context, long silence_ms)
{
	struct timespec limit = { silence_ms / 1000, silence_ms % 1000 * MILLISECOND };
	struct io_event event;
	uint64_t begin = now_ns();

	if (io_getevents(context, 1, 1, &event, &limit) != 0)
		die("io_getevents");
	return now_ns() - begin;
}

int main(int argc, char **argv)
{
	const char *path = "read.data";
	long count = 211, stride = 1 << 20, silence_ms = 0, polls = 0, buffered = 0;
	bool wait =
		parse_options(argc, argv,
			      KNOBS(TEXT("file", path, "file to read"), NUMBER("count", count, "how many reads"),
				    NUMBER("stride", stride, "distance between reads"),
				    NUMBER("silence-ms", silence_ms, "how long it waits for nothing then"),
				    NUMBER("polls", polls, "how many polls are armed before all"),
				    NUMBER("buffered", buffered, "1: through the page cache, so submitting waits")));
	int fd = CHECK(open(path, O_RDONLY | (buffered ? 0 : O_DIRECT))), pipe_fds[2];
	off_t size = CHECK(lseek(fd, 0, SEEK_END));
	io_context_t context = NULL;
	uint64_t submit_ns = 0, wait_ns = 0, silent_ns = 0;
	struct iocb request;
	void *block;

	errno = posix_memalign(&block, 4096, 4096);
	if (!errno)
		errno = -io_setup(8 + polls, &context);
	if (errno)
		die("io_setup");
	CHECK(pipe(pipe_fds));
	start_work(wait);
	for (long i = 0; i < polls; i++) {
		io_prep_poll(&request, pipe_fds[0], POLLIN);
		submit(context, &request);
	}
	for (long i = 0; i < count; i++) {
		off_t at = size > stride ? i * stride % (size - size % stride) : 0;
		struct io_event event;
		uint64_t begin = now_ns();

		io_prep_pread(&request, fd, block, 4096, at);
		submit(context, &request);
		submit_ns += now_ns() - begin;
		begin = now_ns();
		if (io_getevents(context, 1, 1, &event, NULL) != 1 || event.res != 4096)
			die("io_getevents");
		wait_ns += now_ns() - begin;
	}
	if (silence_ms)
		silent_ns = wait_in_vain(context, silence_ms);
	PRINT_TRUTH({ "count", count }, { "submit_ns", submit_ns }, { "wait_ns", wait_ns }, { "silent_ns", silent_ns });
	return 0;
}
