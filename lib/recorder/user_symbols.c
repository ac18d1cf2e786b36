// SPDX-License-Identifier: GPL-2.0-only
/* The parent's side: forks, collects names until the deadline, trusts nothing that comes back. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include "cleanup.h"
#include "helper.h"
#include "monotonic.h"
#include "remembered_maps.h"
#include "symbols.h"
#include "symbols_child.h"

/* Takes the whole records off buffer; returns the bytes used up, or -EBADMSG. */
static ssize_t take_records(const char *buffer, size_t length, struct user_address *addresses, size_t count, int *named)
{
	struct symbol_record record;
	size_t used = 0;

	while (length - used >= sizeof(record)) {
		memcpy(&record, buffer + used, sizeof(record));
		if (record.index >= count || !record.length || record.length > LONGEST_SYMBOL_NAME ||
		    addresses[record.index].name)
			return -EBADMSG;
		if (length - used < sizeof(record) + record.length)
			break;
		addresses[record.index].name = strndup(buffer + used + sizeof(record), record.length);
		if (!addresses[record.index].name)
			return -ENOMEM;
		++*named;
		used += sizeof(record) + record.length;
	}
	return used;
}

static int receive(int fd, struct user_address *addresses, size_t count, int64_t deadline)
{
	char buffer[8 * (sizeof(struct symbol_record) + LONGEST_SYMBOL_NAME)];
	struct pollfd readable = { .fd = fd, .events = POLLIN };
	size_t length = 0;
	int named = 0;

	for (;;) {
		int64_t left = deadline - monotonic_ms();
		ssize_t n;

		if (left <= 0)
			return named;
		if (poll(&readable, 1, left) <= 0)
			continue;
		n = read(fd, buffer + length, sizeof(buffer) - length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return named;
		length += n;
		n = take_records(buffer, length, addresses, count, &named);
		if (n < 0)
			return named;
		length -= n;
		memmove(buffer, buffer + n, length);
	}
}

struct question {
	const struct user_address *addresses;
	size_t count;
	unsigned int deadline_ms;
};

static void look_up(const void *argument, int results_fd)
{
	const struct question *question = argument;

	symbols_child(question->addresses, question->count, results_fd, question->deadline_ms);
}

/* Processes that are gone by now have been met, all others are met now: they may be gone next time. */
static int meet_all(const struct user_address *addresses, size_t count, unsigned int deadline_ms)
{
	_cleanup_free_ pid_t *pids = calloc(count, sizeof(*pids));
	size_t pid_count = 0;

	if (!pids)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (!pid_count || pids[pid_count - 1] != addresses[i].pid)
			pids[pid_count++] = addresses[i].pid;
	remembered_maps_refresh(pids, pid_count, deadline_ms);
	return 0;
}

int user_symbols_resolve(struct user_address *addresses, size_t count, unsigned int deadline_ms)
{
	int64_t deadline = monotonic_ms() + deadline_ms;
	struct question question = { addresses, count, deadline_ms };
	struct helper helper;
	int named;

	if (!count)
		return 0;
	if (count > INT32_MAX)
		return -EINVAL;
	named = meet_all(addresses, count, deadline_ms / 2);
	if (!named)
		named = helper_start(&helper, look_up, &question);
	if (named)
		return named;
	named = receive(helper.fd, addresses, count, deadline);
	helper_end(&helper);
	return named;
}
