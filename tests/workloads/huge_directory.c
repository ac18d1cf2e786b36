/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * huge_directory - fills a directory with very many files and lists it again and again: slow getdents and look-ups.
 */
#include "workload.h"
#include <dirent.h>

static uint64_t list(const char *path)
{
	DIR *directory = opendir(path);
	uint64_t entries = 0;

	if (!directory)
		die(path);
	while (readdir(directory))
		entries++;
	closedir(directory);
	return entries;
}

int main(int argc, char **argv)
{
	const char *path = "huge";
	long count = 20011, rounds = 11, slow_us = 0;
	bool wait = parse_options(argc, argv,
				  KNOBS(TEXT("directory", path, "made if missing; its files are removed at the end"),
					NUMBER("count", count, "files"), NUMBER("rounds", rounds, "listings"),
					NUMBER("pause-us", slow_us, "between them")));
	uint64_t entries = 0, list_ns = 0;
	int fd;

	if (mkdir(path, 0700) && errno != EEXIST)
		die(path);
	fd = CHECK(open(path, O_RDONLY | O_DIRECTORY));
	for (long i = 0; i < count; i++) {
		char name[64];

		snprintf(name, sizeof(name), "message-%08ld.eml", i);
		close(CHECK(openat(fd, name, O_CREAT | O_WRONLY, 0600)));
	}
	start_work(wait);
	for (long i = 0; i < rounds; i++) {
		uint64_t begin = now_ns();

		entries += list(path);
		list_ns += now_ns() - begin;
		sleep_ns(slow_us * 1000);
	}
	for (long i = 0; i < count; i++) {
		char name[64];

		snprintf(name, sizeof(name), "message-%08ld.eml", i);
		unlinkat(fd, name, 0);
	}
	rmdir(path);
	PRINT_TRUTH({ "count", count }, { "entries", entries }, { "list_ns", list_ns });
	return 0;
}
