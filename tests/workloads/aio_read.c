/* SPDX-License-Identifier: GPL-2.0-only */
/* LIBS: -laio */
/*
 * aio_read - reads N blocks with libaio and waits for each: time goes to wait.io_uring, requests in flight.
 */
#include "workload.h"
#include <libaio.h>

int main(int argc, char **argv)
{
	const char *path = "read.data";
	long count = 211, stride = 1 << 20;
	bool wait = parse_options(argc, argv,
				  KNOBS(TEXT("file", path, "file to read"), NUMBER("count", count, "how many reads"),
					NUMBER("stride", stride, "distance between reads")));
	int fd = CHECK(open(path, O_RDONLY | O_DIRECT));
	off_t size = CHECK(lseek(fd, 0, SEEK_END));
	io_context_t context = NULL;
	uint64_t wait_ns = 0;
	void *block;

	errno = posix_memalign(&block, 4096, 4096);
	if (!errno)
		errno = -io_setup(8, &context);
	if (errno)
		die("io_setup");
	start_work(wait);
	for (long i = 0; i < count; i++) {
		off_t at = size > stride ? i * stride % (size - size % stride) : 0;
		struct iocb request, *requests[] = { &request };
		struct io_event event;
		uint64_t begin;

		io_prep_pread(&request, fd, block, 4096, at);
		errno = 0;
		if (io_submit(context, 1, requests) != 1)
			die("io_submit");
		begin = now_ns();
		if (io_getevents(context, 1, 1, &event, NULL) != 1 || event.res != 4096)
			die("io_getevents");
		wait_ns += now_ns() - begin;
	}
	PRINT_TRUTH({ "count", count }, { "wait_ns", wait_ns });
	return 0;
}
