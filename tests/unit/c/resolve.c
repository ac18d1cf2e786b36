// SPDX-License-Identifier: GPL-2.0-only
/*
 * No test but a tool of tests: resolve PID ADDRESS... prints a line each: the name, or - when there is none; and on
 * stderr what the recording then says of those that lack something.  With --later it meets the process, says so when
 * its files are known, and resolves when it is told to.  With --memory it may read that of the process.
 */
/* SOURCES: symbols/unnamed_addresses.c output/json.c output/output.c symbols/user_symbols.c base/helper.c symbols/remembered_maps.c symbols/maps_child.c scripts/interpreters.c scripts/script_names.c scripts/perl.c scripts/php.c scripts/python.c scripts/ruby.c scripts/v8.c base/memory_symbols.c base/process_files.c symbols/symbols_child.c symbols/symbols_filter.c symbols/process_maps.c symbols/elf_symbols.c symbols/go_symbols.c symbols/perf_map.c symbols/hotspot_code.c base/hotspot_layout.c base/capabilities.c */
/* LIBS: -lelf -llzma -lseccomp */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "meet.h"
#include "symbols/symbols.h"
#include "symbols/unnamed_addresses.h"

static void meet(pid_t pid)
{
	puts(meet_and_wait(pid) ? "met" : "not met");
	fflush(stdout);
	getchar();
}

int main(int argc, char **argv)
{
	struct unnamed unnamed = {};
	struct output output = {};
	struct json json = {};
	bool later = argc > 1 && !strcmp(argv[1], "--later"), memory = argc > 1 && !strcmp(argv[1], "--memory");
	struct user_address *addresses = calloc(argc, sizeof(*addresses));
	int count;

	user_symbols_read_memory(memory);
	argv += later || memory;
	count = argc - (later || memory) - 2;
	if (later)
		meet(atoi(argv[1]));

	for (int i = 0; i < count; i++)
		addresses[i] =
			(struct user_address){ .pid = atoi(argv[1]), .address = strtoull(argv[i + 2], NULL, 16) };
	if (user_symbols_resolve(addresses, count, 5000) < 0)
		return 1;
	for (int i = 0; i < count; i++) {
		puts(addresses[i].name ? addresses[i].name : "-");
		if (addresses[i].lack)
			unnamed_add(&unnamed, &addresses[i]);
		free(addresses[i].name);
	}
	free(addresses);
	output_add(&output, STDERR_FILENO, "standard error");
	unnamed_write(&unnamed, &json, &output);
	output_close(&output);
	json_free(&json);
	return 0;
}
