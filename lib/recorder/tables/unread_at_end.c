// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests that have arrived and that nobody has read when the window ends: a server that is stopped, or stuck, reads
 * nothing all the time.  In what those are who read there last is told by their own lines of time, extended to now.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uthash.h>
#include "base/cleanup.h"
#include "recorder.h"
#include "request/read_delay_parts.h"

#define MOST_LEFT 65536	       /* requests; 2.6 MB */
#define MOST_LEFT_OBJECTS 1024 /* ports and addresses, as in `accepting` of follow.bpf.h */
#define MOST_READERS 16384     /* threads; 17 MB while they are looked at */

struct reader {
	__u32 tid;
	struct chain_copy copy;
	UT_hash_handle hh;
};

static struct left {
	__u64 object;
	bool earlier; /* they arrived before the window */
	bool queued;  /* nobody has accepted their connections */
	__u64 count, sum_ns, oldest_ns;
	struct unread_parts unread;
} lefts[4 * MOST_LEFT_OBJECTS];
static size_t count;

/* Reads what an iterator writes, things of `size` bytes; returns how many, or -errno. */
static ssize_t read_all(int fd, size_t size, size_t most, void **into)
{
	_cleanup_free_ char *text = NULL;
	size_t length = 0, room = 0;
	ssize_t more = 1;

	if (fd < 0)
		return fd;
	while (more > 0 && length < size * most) {
		if (length == room) {
			room = room ? 2 * room : 64 * size;
			char *larger = realloc(text, room);

			if (!larger)
				return -ENOMEM;
			text = larger;
		}
		more = read(fd, text + length, room - length);
		if (more < 0 && errno == EINTR)
			more = 1;
		else if (more > 0)
			length += more;
	}
	if (more < 0)
		return -errno;
	*into = take_pointer(text);
	return length / size;
}

static int by_sock(const void *one, const void *other)
{
	const struct left_unread *first = one, *second = other;

	return (first->sock > second->sock) - (first->sock < second->sock);
}

/* Processes share sockets: each request once, and of those that several could read it is not known who would. */
static size_t merge_shared(struct left_unread *found, size_t number)
{
	size_t kept = 0;

	qsort(found, number, sizeof(*found), by_sock);
	for (size_t i = 0; i < number; i++) {
		struct left_unread *before = kept ? &found[kept - 1] : NULL;

		if (before && before->sock == found[i].sock) {
			if (before->tgid != found[i].tgid)
				before->tgid = 0;
			continue;
		}
		found[kept++] = found[i];
	}
	return kept;
}

/* Does a thread that is in that account now read nothing, whatever comes? */
static bool is_hindered(__u32 account)
{
	return account == ACCOUNT_WAIT_STOPPED || !is_idle(account);
}

/*
 * Who would read: who read there last, else whoever of its process is hindered, if all such are in the same.  NULL: not
 * known.
 */
static const struct chain_copy *reader_of(struct reader *readers, const struct left_unread *left)
{
	const struct chain_copy *found = NULL;
	struct reader *each, *next;

	HASH_FIND(hh, readers, &left->tid, sizeof(left->tid), each);
	if (left->tid && each)
		return &each->copy;
	HASH_ITER(hh, readers, each, next)
	{
		if (each->copy.tgid != left->tgid || !is_hindered(each->copy.account))
			continue;
		if (found && found->account != each->copy.account)
			return NULL;
		found = &each->copy;
	}
	return found;
}

/* In what its reader was since it arrived, or the window began. */
static void explain(struct left *left, const struct chain_copy *reader, __u64 begun)
{
	union unread_in in = { .account = reader->account, .root = reader->account, .served = reader->served };
	__u64 end = reader->chain.end, until = reader->at, error_ns;
	__u32 back = 0;

	if (end < until) {
		until = end > begun ? end : begun;
		if (reader->at > until)
			add_unread_part(&left->unread, in.word, reader->at - until);
	}
	while (back < CHAIN_SEGMENTS &&
	       add_segment_before(&left->unread, &reader->chain, back, begun, &until, &error_ns))
		back++;
}

static struct left *left_at(__u64 object, bool earlier, bool queued)
{
	for (size_t i = 0; i < count; i++)
		if (lefts[i].object == object && lefts[i].earlier == earlier && lefts[i].queued == queued)
			return &lefts[i];
	if (count == 4 * MOST_LEFT_OBJECTS)
		return NULL;
	lefts[count] = (struct left){ .object = object, .earlier = earlier, .queued = queued };
	return &lefts[count++];
}

static void add_left(struct recorder *recorder, struct reader *readers, const struct left_unread *found, __u64 now)
{
	__u64 begun = found->begun > recorder->start_ns ? found->begun : recorder->start_ns;
	struct left *left = left_at(found->object, found->begun < recorder->start_ns, found->queued);
	const struct chain_copy *reader;

	if (!left)
		return;
	left->count++;
	if (!found->begun || begun >= now)
		return;
	left->sum_ns += now - begun;
	if (now - found->begun > left->oldest_ns)
		left->oldest_ns = now - found->begun;
	reader = reader_of(readers, found);
	if (reader)
		explain(left, reader, begun);
}

static void forget(struct reader *readers, void *array)
{
	HASH_CLEAR(hh, readers);
	free(array);
}

/* Hands the silent ones over, and returns how many others there are, which stand first then. */
static size_t take_silent(struct recorder *recorder, struct left_unread *found, size_t number, __u64 now)
{
	size_t kept = 0;

	for (size_t i = 0; i < number; i++) {
		if (found[i].silent)
			silent_add(recorder, &found[i], now);
		else
			found[kept++] = found[i];
	}
	return kept;
}

int left_unread_take(struct recorder *recorder)
{
	_cleanup_close_ int fd = probes_left_unread_fd(recorder), chains = -1;
	_cleanup_free_ struct left_unread *found = NULL;
	_cleanup_free_ struct chain_copy *copies = NULL;
	ssize_t number = read_all(fd, sizeof(*found), MOST_LEFT, (void **)&found), threads;
	struct reader *readers = NULL, *array;
	__u64 now;

	if (number <= 0)
		return number;
	now = now_ns();
	number = take_silent(recorder, found, merge_shared(found, number), now);
	if (!number)
		return 0;
	chains = probes_chains_fd(recorder);
	threads = read_all(chains, sizeof(*copies), MOST_READERS, (void **)&copies);
	if (threads < 0)
		return threads;
	array = calloc(threads + 1, sizeof(*array));
	if (!array)
		return -ENOMEM;
	for (ssize_t i = 0; i < threads; i++) {
		array[i].tid = copies[i].tid;
		array[i].copy = copies[i];
		HASH_ADD(hh, readers, tid, sizeof(array[i].tid), &array[i]);
	}
	for (ssize_t i = 0; i < number; i++)
		add_left(recorder, readers, &found[i], now);
	forget(readers, array);
	return 0;
}

static void write_parts(struct json *json, const struct unread_part *parts)
{
	json_array(json, "parts");
	for (size_t i = 0; i < UNREAD_PARTS && parts[i].ns; i++) {
		if (parts[i].in.account >= ACCOUNT_COUNT || parts[i].in.root >= ACCOUNT_COUNT)
			continue;
		json_array(json, NULL);
		json_text(json, NULL, account_names[parts[i].in.account]);
		json_text(json, NULL, account_names[parts[i].in.root]);
		json_bool(json, NULL, parts[i].in.served);
		json_u64(json, NULL, parts[i].ns);
		json_end(json);
	}
	json_end(json);
}

void left_unread_write(struct recorder *recorder)
{
	struct json *json = &recorder->json;

	for (size_t i = 0; i < count; i++) {
		json_open(json, "request_left");
		object_write(recorder, "object", lefts[i].object);
		json_bool(json, "earlier", lefts[i].earlier);
		json_bool(json, "queued", lefts[i].queued);
		json_u64(json, "count", lefts[i].count);
		json_u64(json, "sum_ns", lefts[i].sum_ns);
		json_u64(json, "oldest_ns", lefts[i].oldest_ns);
		write_parts(json, lefts[i].unread.parts);
		json_write(json, &recorder->output);
	}
}
