// SPDX-License-Identifier: GPL-2.0-only
/* Host mode: under which process and name a thread is shown. */
#include <stdlib.h>
#include <string.h>
#include "rows/host_mode_internal.h"

void host_comm(const struct record *record, char comm[COMM_BYTES])
{
	char *slash;

	memcpy(comm, record->process_comm, COMM_BYTES);
	slash = record->kernel_thread ? memchr(comm, '/', COMM_BYTES) : NULL;
	/* "kworker/u8:3-events" and "ksoftirqd/1", but not "jbd2/vda1-8", nor "irq/24-ahci" */
	if (slash && (!strncmp(comm, "kworker", 7) ||
		      strspn(slash + 1, "0123456789") == strnlen(slash + 1, comm + COMM_BYTES - slash - 1)))
		memset(slash, 0, comm + COMM_BYTES - slash);
}

uint32_t host_pid(struct recorder *recorder, const struct record *record)
{
	struct host *host = host_of(recorder);
	struct kernel_name *name;
	char comm[COMM_BYTES];

	if (!record->kernel_thread || !host)
		return record->tgid;
	host_comm(record, comm);
	HASH_FIND(hh, host->kernel_names, comm, COMM_BYTES, name);
	if (!name) {
		name = calloc(1, sizeof(*name));
		if (!name)
			return record->tgid;
		memcpy(name->comm, comm, COMM_BYTES);
		name->pid = record->tgid;
		HASH_ADD(hh, host->kernel_names, comm, COMM_BYTES, name);
	}
	return name->pid;
}

void host_know(struct host *host, const struct record *record)
{
	struct known_thread *known;

	HASH_FIND(hh, host->known, &record->tid, sizeof(record->tid), known);
	if (!known && HASH_COUNT(host->known) < MOST_PROCESSES && (known = calloc(1, sizeof(*known)))) {
		known->tid = record->tid;
		HASH_ADD(hh, host->known, tid, sizeof(known->tid), known);
	}
	if (known)
		known->tgid = record->tgid;
}

uint32_t host_process_of(const struct recorder *recorder, uint32_t tid)
{
	struct known_thread *known = NULL;

	if (recorder->host)
		HASH_FIND(hh, recorder->host->known, &tid, sizeof(tid), known);
	return known ? known->tgid : 0;
}
