// SPDX-License-Identifier: GPL-2.0-only
/* Names for the code of our own programs: /proc/kallsyms was read before there was any. */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include "program/probes.h"
#include "symbols/symbols.h"

#define MOST_FUNCTIONS 64 /* of a program: what it calls is code of its own */

/* A program that was not compiled, or whose addresses may not be seen, has none. */
static int add_functions(struct kernel_symbols *symbols, const struct probe_state *state)
{
	__u64 addresses[MOST_FUNCTIONS] = {};
	__u32 lengths[MOST_FUNCTIONS] = {}, size;
	char name[80];
	struct bpf_prog_info info = {
		.nr_jited_ksyms = MOST_FUNCTIONS,
		.jited_ksyms = (uintptr_t)addresses,
		.nr_jited_func_lens = MOST_FUNCTIONS,
		.jited_func_lens = (uintptr_t)lengths,
	};
	int err = 0;

	size = sizeof(info);
	if (bpf_obj_get_info_by_fd(bpf_program__fd(state->program), &info, &size))
		return -errno;
	snprintf(name, sizeof(name), OWN_PROGRAM "%s", state->probe->name);
	for (__u32 i = 0; !err && i < info.nr_jited_ksyms && i < info.nr_jited_func_lens && i < MOST_FUNCTIONS; i++)
		if (addresses[i] && lengths[i])
			err = kernel_symbols_add(symbols, addresses[i], lengths[i], name);
	return err;
}

int program_symbols_add(struct recorder *recorder)
{
	int err = 0;

	for (size_t i = 0; !err && i < probes_count(); i++)
		if (bpf_program__fd(recorder->probes[i].program) >= 0)
			err = add_functions(recorder->symbols, &recorder->probes[i]);
	kernel_symbols_sort(recorder->symbols);
	return err;
}
