/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * small_files - makes a file, fills, closes, stats, renames and removes it, N times: what a tar or a mail spool does.
 * On NFS nearly all of it is round trips for names and attributes, and closing a file makes its data safe.  With
 * --stay 1 it then leaves the directory, tells the truth, and goes on until another byte comes.
 */
#include "workload.h"

int main(int argc, char **argv)
{
	const char *directory = ".";
	long count = 23, bytes = 4096, keep = 0, stay = 0;
	uint64_t open_ns = 0, write_ns = 0, close_ns = 0, name_ns = 0;
	bool wait = parse_options(argc, argv,
				  KNOBS(TEXT("directory", directory, "where"), NUMBER("count", count, "how many files"),
					NUMBER("bytes", bytes, "size of each; 0: stays empty"),
					NUMBER("keep", keep, "1: neither renamed nor removed"),
					NUMBER("stay", stay, "1: waits for stdin, elsewhere, when all is done")));
	char *block = malloc(bytes + 1), name[64], other[64];

	memset(block, 'x', bytes + 1);
	start_work(wait);
	CHECK(chdir(directory));
	for (long i = 0; i < count; i++) {
		uint64_t times[5];
		struct stat found;
		int fd;

		snprintf(name, sizeof(name), "file-%ld", i);
		snprintf(other, sizeof(other), "renamed-%ld", i);
		times[0] = now_ns();
		fd = CHECK(open(name, O_RDWR | O_CREAT | O_EXCL, 0600));
		times[1] = now_ns();
		if (write(fd, block, bytes) != bytes)
			die("write");
		times[2] = now_ns();
		CHECK(close(fd));
		times[3] = now_ns();
		CHECK(stat(name, &found));
		if (!keep) {
			CHECK(rename(name, other));
			CHECK(unlink(other));
		}
		times[4] = now_ns();
		open_ns += times[1] - times[0];
		write_ns += times[2] - times[1];
		close_ns += times[3] - times[2];
		name_ns += times[4] - times[3];
	}
	if (stay)
		CHECK(chdir("/"));
	PRINT_TRUTH({ "count", count }, { "open_ns", open_ns }, { "write_ns", write_ns }, { "close_ns", close_ns },
		    { "name_ns", name_ns });
	if (stay && read(0, name, 1) < 0)
		die("read of stdin");
	return 0;
}
