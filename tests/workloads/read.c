/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * read - reads N blocks that are not in memory, with O_DIRECT or through the page cache, or writes a part of each, for which
 * the kernel has to read it: time goes to disk.read.
 */
#include "workload.h"
#include <sys/sendfile.h>

int main(int argc, char **argv)
{
	const char *path = "read.data", *mode = "direct";
	long count = 211, bytes = 4096, stride = 1 << 20;
	uint64_t read_ns = 0, worst_ns = 0;
	bool wait = parse_options(argc, argv,
				  KNOBS(TEXT("file", path, "file to read, at least one stride long"),
					TEXT("mode", mode, "direct, buffered, sendfile (to /dev/null) or write"),
					NUMBER("count", count, "how many reads"),
					NUMBER("bytes", bytes, "size of each read"),
					NUMBER("stride", stride, "distance between reads: beyond any read-ahead")));
	bool direct = !strcmp(mode, "direct");
	int fd = CHECK(open(path, (!strcmp(mode, "write") ? O_RDWR : O_RDONLY) | (direct ? O_DIRECT : 0)));
	int sink = CHECK(open("/dev/null", O_WRONLY));
	off_t size = CHECK(lseek(fd, 0, SEEK_END));
	char *block;

	errno = posix_memalign((void **)&block, 4096, bytes);
	if (errno)
		die("posix_memalign");
	CHECK(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
	CHECK(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM));
	start_work(wait);
	for (long i = 0; i < count; i++) {
		off_t at = size > stride ? i * stride % (size - size % stride) : 0;
		uint64_t begin = now_ns(), spent;

		if (!strcmp(mode, "sendfile"))
			CHECK(sendfile(sink, fd, &at, bytes));
		else if (!strcmp(mode, "write"))
			CHECK(pwrite(fd, "a few bytes", 11, at + 100));
		else
			CHECK(pread(fd, block, bytes, at));
		spent = now_ns() - begin;
		read_ns += spent;
		if (spent > worst_ns)
			worst_ns = spent;
	}
	PRINT_TRUTH({ "count", count }, { "read_ns", read_ns }, { "worst_ns", worst_ns });
	return 0;
}
