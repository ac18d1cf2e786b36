// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
#include "base/capabilities.h"
#include "base/cleanup.h"
#include "symbols/symbol_lookup.h"
#include "symbols/symbols.h"
#include "symbols/symbols_child.h"

#define NOBODY 65534
#define LARGEST_DATA_BYTES (256 * 1024 * 1024) /* a hostile ELF file can ask for tables of any size */

/* A process with addresses, and where it says what code it made. */
struct maker {
	pid_t pid;
	int perf_map; /* or -errno */
	struct hotspot_library java;
};

void lookup_report(struct lookup *lookup, const char *symbol, size_t length, const char *module, FILE *results)
{
	char name[LONGEST_SYMBOL_NAME + 1];
	struct symbol_record record = { .index = lookup->index };
	size_t room = sizeof(name) - LONGEST_MODULE_NAME - sizeof(" ()");

	if (!symbol)
		record.lack = lookup->lack ?: lookup->file->lack;
	if (symbol)
		record.length = snprintf(name, sizeof(name), "%.*s (%.*s)", (int)(length < room ? length : room),
					 symbol, LONGEST_MODULE_NAME, module);
	else
		record.length = snprintf(name, sizeof(name), "0x%" PRIx64 " (%.*s)", lookup->place, LONGEST_MODULE_NAME,
					 module);
	fwrite(&record, sizeof(record), 1, results);
	fwrite(name, record.length, 1, results);
	lookup->named = true;
}

/* Who waits for us may have to tell in which file we hang, or ended. */
static void say_what_is_read(const char *name, FILE *results)
{
	size_t length = strnlen(name, LONGEST_MODULE_NAME);
	struct symbol_record record = { .index = INDEX_READS, .length = length };

	fwrite(&record, sizeof(record), 1, results);
	fwrite(name, length, 1, results);
	fflush(results);
}

static int compare_addresses(const void *left, const void *right)
{
	const struct lookup *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

static int compare_files(const void *left, const void *right)
{
	const struct lookup *a = left, *b = right;

	return a->file < b->file ? -1 : a->file > b->file;
}

static void limit(int resource, rlim_t value)
{
	setrlimit(resource, &(struct rlimit){ value, value });
}

void symbols_confine(int results_fd, unsigned int deadline_ms)
{
	if (geteuid() == 0) {
		/* Refused only where a user namespace has no such user; the capabilities go in any case. */
		if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
			errno = 0;
	}
	if (capabilities_keep(0, 0))
		_exit(1);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_FSIZE, 0);
#ifndef __SANITIZE_ADDRESS__ /* whose shadow memory would count */
	limit(RLIMIT_DATA, LARGEST_DATA_BYTES);
#endif
	limit(RLIMIT_CPU, deadline_ms / 1000 + 2);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* here, because a change of user resets it */
#ifndef __SANITIZE_ADDRESS__		  /* which could not tell what it found */
	if (symbols_filter(results_fd))
		_exit(1);
#else
	(void)results_fd;
#endif
}

/* A slice is a run of lookups with the same key, [from, returned end). */
#define slice_end(lookups, count, from, key)                                                                           \
	({                                                                                                             \
		size_t end_ = (from);                                                                                  \
		while (end_ < (count) && (lookups)[end_].key == (lookups)[from].key)                                   \
			end_++;                                                                                        \
		end_;                                                                                                  \
	})

static size_t begin(struct lookup *lookups, const struct user_address *addresses, size_t count)
{
	size_t wanted = 0;

	for (size_t i = 0; i < count; i++) {
		if (addresses[i].name)
			continue;
		lookups[wanted++] = (struct lookup){
			.index = i,
			.pid = addresses[i].pid,
			.address = addresses[i].address - addresses[i].return_address,
			.only_code = addresses[i].only_code,
		};
	}
	qsort(lookups, wanted, sizeof(*lookups), compare_addresses);
	return wanted;
}

/* Everything that needs a privilege. */
static size_t open_all(struct lookup *lookups, size_t count, struct mapped_files *files, struct maker *makers)
{
	size_t maker_count = 0;

	for (size_t from = 0, end; from < count; from = end) {
		struct maker *maker = &makers[maker_count];
		pid_t pid = lookups[from].pid;

		end = slice_end(lookups, count, from, pid);
		maker->pid = pid;
		if (process_maps_find(pid, lookups + from, end - from, files, &maker->java))
			continue;
		maker->perf_map = perf_map_open(pid);
		maker_count++;
	}
	return maker_count;
}

static void name_by_files(struct lookup *lookups, size_t count, FILE *results)
{
	qsort(lookups, count, sizeof(*lookups), compare_files);
	for (size_t from = 0, end; from < count; from = end) {
		struct mapped_file *file = lookups[from].file;

		end = slice_end(lookups, count, from, file);
		if (!file)
			continue;
		if (file->fd < 0) {
			file->lack = file->inode ? LACK_NOT_OPENED : LACK_NONE;
			continue;
		}
		say_what_is_read(file->name, results);
		elf_symbols_find(file, lookups + from, end - from, results);
	}
	qsort(lookups, count, sizeof(*lookups), compare_addresses);
}

static void name_by_memory(struct maker *maker, struct lookup *lookups, size_t count, FILE *results)
{
	if (maker->java.object.memory < 0)
		return;
	say_what_is_read("the memory of a Java virtual machine", results);
	hotspot_symbols_find(&maker->java.object, lookups, count);
	close(maker->java.object.memory);
}

static void name_by_perf_map(struct maker *maker, struct lookup *lookups, size_t count, FILE *results)
{
	for (size_t i = 0; i < count && maker->perf_map == MAP_REFUSED; i++)
		if (lookups[i].file && !lookups[i].file->inode)
			lookups[i].lack = LACK_MAP_REFUSED;
	if (maker->perf_map < 0)
		return;
	say_what_is_read("a perf map", results);
	perf_map_find(maker->perf_map, lookups, count, results);
}

static void name_by_makers(struct maker *makers, size_t maker_count, struct lookup *lookups, size_t count,
			   void (*name)(struct maker *, struct lookup *, size_t, FILE *), FILE *results)
{
	for (size_t from = 0, end, maker = 0; from < count && maker < maker_count; from = end) {
		end = slice_end(lookups, count, from, pid);
		if (lookups[from].pid == makers[maker].pid)
			name(&makers[maker++], lookups + from, end - from, results);
	}
}

static void report_the_rest(struct lookup *lookups, size_t count, FILE *results)
{
	for (size_t i = 0; i < count; i++) {
		struct lookup *lookup = &lookups[i];

		if (lookup->named || !lookup->file)
			continue;
		if (lookup->of_machine)
			lookup_report(lookup, lookup->of_machine, strlen(lookup->of_machine),
				      lookup->is_method ? "jit" : "libjvm.so", results);
		else if (!lookup->only_code)
			lookup_report(lookup, NULL, 0, lookup->file->name, results);
	}
	fwrite(&(struct symbol_record){ .index = INDEX_DONE }, sizeof(struct symbol_record), 1, results);
	fflush(results);
}

_Noreturn void symbols_child(const struct user_address *addresses, size_t count, int results_fd,
			     unsigned int deadline_ms)
{
	struct lookup *lookups = calloc(count, sizeof(*lookups));
	struct maker *makers = calloc(count, sizeof(*makers));
	struct mapped_files files = {};
	FILE *results = fdopen(results_fd, "we");
	size_t maker_count;

	if (!lookups || !makers || !results)
		_exit(1);
	count = begin(lookups, addresses, count);
	maker_count = open_all(lookups, count, &files, makers);
	symbols_confine(results_fd, deadline_ms);

	/* Memory is closed before a library, which a hostile file may break, reads any file. */
	name_by_makers(makers, maker_count, lookups, count, name_by_memory, results);
	name_by_files(lookups, count, results);
	name_by_makers(makers, maker_count, lookups, count, name_by_perf_map, results);
	report_the_rest(lookups, count, results);
	_exit(0);
}
