// SPDX-License-Identifier: GPL-2.0-only
/* Host mode: what stands in the recording for those that were chosen, and for the rest. */
#include <string.h>
#include "rows/host_mode_internal.h"

#define REST_NAMES 500

/* `pid` is 0 where it is all of a name. */
static void write_process(struct recorder *recorder, uint32_t pid, const char comm[COMM_BYTES], bool is_kernel,
			  const struct fold *fold)
{
	struct json *json = &recorder->json;

	json_open(json, "process");
	json_u64(json, "at_ns", recorder->end_ns);
	json_u64(json, "pid", pid);
	json_bytes(json, "comm", comm, strnlen(comm, COMM_BYTES));
	json_bool(json, "kernel", is_kernel);
	fold_write(json, fold);
	json_write(json, &recorder->output);
}

/* One that gets no line of its own joins those of its name; false: there is no memory for one more name. */
static bool join_rest(struct fold_entry **rest, const struct host_process *process)
{
	struct fold_entry *same = fold_of_name(rest, process->comm, REST_NAMES);

	if (!same)
		return false;
	same->has_process |= !process->kernel_thread;
	fold_merge(&same->fold, &process->fold);
	return true;
}

void host_write(struct recorder *recorder)
{
	struct host_process *process, *next;
	struct fold_entry *rest = NULL, *same, *next_name;
	struct host *host = recorder->host;

	if (!host)
		return;
	HASH_ITER(hh, host->processes, process, next)
	{
		if (process->kept || !join_rest(&rest, process)) /* a line too many loses no books */
			write_process(recorder, process->pid, process->comm, process->kernel_thread, &process->fold);
	}
	HASH_ITER(hh, rest, same, next_name)
	{
		write_process(recorder, 0, same->comm, !same->has_process, &same->fold);
		fold_free(&rest, same);
	}
	for (size_t i = 0; i < host->thread_count; i++)
		thread_write(recorder, &host->threads[i].record, &host->threads[i].open);
}
