// SPDX-License-Identifier: GPL-2.0-only
/* The parent's side: forks, collects names until the deadline, trusts nothing that comes back. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "base/helper.h"
#include "base/monotonic.h"
#include "base/privileges.h"
#include "symbols/remembered_maps.h"
#include "symbols/symbols.h"
#include "symbols/symbols_child.h"

struct answers {
	struct user_address *addresses;
	size_t count;
	int named;
	bool done;
};

static char reading[LONGEST_MODULE_NAME + 1]; /* what the child reads, as it says */

const char *user_symbols_broke_in(void)
{
	return reading;
}

static bool is_valid(const struct symbol_record *record, const struct answers *answers)
{
	if (record->index == INDEX_READS)
		return record->length < sizeof(reading);
	if (record->index == INDEX_DONE)
		return !record->length;
	return record->index < answers->count && record->length && record->length <= LONGEST_SYMBOL_NAME &&
	       record->lack < LACKS && !answers->addresses[record->index].name;
}

static int take_record(const struct symbol_record *record, const char *text, struct answers *answers)
{
	struct user_address *address;

	if (record->index == INDEX_READS) {
		memcpy(reading, text, record->length);
		reading[record->length] = '\0';
		return 0;
	}
	answers->done = record->index == INDEX_DONE;
	if (answers->done)
		return 0;
	address = &answers->addresses[record->index];
	address->lack = record->lack;
	address->name = strndup(text, record->length);
	answers->named += address->name != NULL;
	return address->name ? 0 : -ENOMEM;
}

/* Takes the whole records off buffer; returns the bytes used up, or -errno. */
static ssize_t take_records(const char *buffer, size_t length, struct answers *answers)
{
	struct symbol_record record;
	size_t used = 0;
	int err;

	while (length - used >= sizeof(record)) {
		memcpy(&record, buffer + used, sizeof(record));
		if (!is_valid(&record, answers))
			return -EBADMSG;
		if (length - used < sizeof(record) + record.length)
			break;
		err = take_record(&record, buffer + used + sizeof(record), answers);
		if (err)
			return err;
		used += sizeof(record) + record.length;
	}
	return used;
}

/* Returns what the addresses lack that have no answer after that. */
static enum symbol_lack receive(int fd, struct answers *answers, int64_t deadline)
{
	char buffer[8 * (sizeof(struct symbol_record) + LONGEST_SYMBOL_NAME)];
	struct pollfd readable = { .fd = fd, .events = POLLIN };
	size_t length = 0;

	while (!answers->done) {
		int64_t left = deadline - monotonic_ms();
		ssize_t n;

		if (left <= 0)
			return LACK_LATE;
		if (poll(&readable, 1, left) <= 0)
			continue;
		n = read(fd, buffer + length, sizeof(buffer) - length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return LACK_ENDED;
		length += n;
		n = take_records(buffer, length, answers);
		if (n < 0)
			return LACK_ENDED;
		length -= n;
		memmove(buffer, buffer + n, length);
	}
	return LACK_NONE;
}

static void tell_lack(struct user_address *addresses, size_t count, enum symbol_lack lack)
{
	for (size_t i = 0; i < count; i++)
		if (!addresses[i].name && !addresses[i].only_code)
			addresses[i].lack = lack;
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

static const struct helper_task naming = { "perfdiag-symbol", OF_SYMBOLS, look_up };

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
	struct answers answers = { .addresses = addresses, .count = count };
	struct helper helper;
	int err;

	if (!count)
		return 0;
	if (count > INT32_MAX)
		return -EINVAL;
	reading[0] = '\0';
	err = meet_all(addresses, count, deadline_ms / 2);
	if (!err)
		err = helper_start(&helper, &naming, &question);
	tell_lack(addresses, count, err ? LACK_NOT_STARTED : LACK_NONE);
	if (err)
		return err;
	tell_lack(addresses, count, receive(helper.fd, &answers, deadline));
	helper_end(&helper);
	return answers.named;
}
