// SPDX-License-Identifier: GPL-2.0-only
/*
 * The files are read by children, because any read can block for ever and a process that waits uninterruptibly cannot
 * even be killed.  The first child makes the list, the next ones read it; a child that hangs on a file is abandoned,
 * never waited for, and another goes on with the file after it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "facts/facts.h"
#include "facts/child.h"
#include "facts/internal.h"
#include "output/json.h"
#include "base/monotonic.h"

#define SILENCE_PARTS 8		     /* this part of the deadline is waited for one file */
#define NAMESPACES "/proc/[0-9]*/ns" /* any of them */

/* What a child tells: this, a path (from the list's child only), a text. */
struct frame {
	uint64_t at_ns;
	uint32_t path_length, text_length;
	int32_t error;
	uint32_t limit;
	const char *until; /* a literal, at the same address in parent and child */
	bool again, truncated;
};

struct job {
	struct output *output;
	const char *phase;
	enum facts_phase mask;
	const pid_t *pids;
	size_t count;
	uint64_t deadline_ns; /* no reader is replaced after it */
	struct patience patience;
	struct wanted_list list;
	size_t next;	   /* of the list: the first that is not recorded yet */
	size_t text_bytes; /* recorded */
};

static bool without_applications;
static struct wanted_list begun; /* what the begin recorded */

static void send_items(const struct wanted_list *list, size_t first)
{
	for (size_t i = first; i < list->count; i++) {
		const struct wanted *item = &list->items[i];
		struct frame frame = {
			.path_length = strlen(item->path),
			.limit = item->limit,
			.until = item->until,
			.again = item->again,
		};

		child_send(&frame, sizeof(frame));
		child_send(item->path, frame.path_length);
	}
}

/* What may hang comes last, when all that cannot is told already. */
static void send_list(void *argument)
{
	struct job *job = argument;
	size_t told;

	if (facts_list(&job->list, job->mask, job->pids, job->count))
		_exit(1);
	for (size_t i = 0; i < begun.count && job->mask == FACTS_END; i++) {
		const struct wanted *item = &begun.items[i];

		if (item->again && !wanted_has(&job->list, item->path) &&
		    wanted_add(&job->list, item->path, item->limit, item->until))
			_exit(1);
	}
	if (job->mask == FACTS_END && facts_list_competitors(&job->list))
		_exit(1);
	send_items(&job->list, 0);
	told = job->list.count;
	/* Many processes may have to be looked at for these: meanwhile all the rest is told. */
	if (job->mask != FACTS_SERIES && facts_list_kernel_threads(&job->list))
		_exit(1);
	if (!without_applications && facts_list_hotspot(&job->list, job->pids, job->count))
		_exit(1);
	send_items(&job->list, told);
	told = job->list.count;
	if (child_hangs_in(NAMESPACES))
		return;
	if (facts_list_namespaces(&job->list, job->mask, job->pids, job->count))
		_exit(1);
	send_items(&job->list, told);
}

static void send_texts(void *argument)
{
	static struct fact_text fact;
	const struct job *job = argument;

	for (size_t i = job->next; i < job->list.count; i++) {
		struct frame frame = { .at_ns = now_ns() };

		if (child_hangs_in(job->list.items[i].path)) {
			frame.error = ETIMEDOUT;
		} else {
			fact_read(&job->list.items[i], &fact);
			frame.error = fact.error;
			frame.text_length = fact.error ? 0 : fact.length;
			frame.truncated = fact.truncated;
		}
		child_send(&frame, sizeof(frame));
		child_send(fact.text, frame.text_length);
	}
}

static int write_fact(const struct job *job, uint64_t at_ns, const char *path, const char *error, const char *text,
		      size_t length, bool truncated)
{
	struct json json = {};
	int err;

	json_open(&json, "fact");
	json_u64(&json, "at_ns", at_ns);
	json_text(&json, "phase", job->phase);
	json_text(&json, "path", path);
	if (error)
		json_text(&json, "error", error);
	else
		json_bytes(&json, "text", text, length);
	if (truncated)
		json_bool(&json, "truncated", true);
	err = json_write(&json, job->output);
	json_free(&json);
	return err;
}

static int write_error(const struct job *job, const char *path, const char *error)
{
	return write_fact(job, now_ns(), path, error, NULL, 0, false);
}

static const char *error_text(int err)
{
	if (err == -ETIMEDOUT)
		return "timeout";
	return err == -ENODATA ? "its reader ended" : strerror(-err);
}

/* In the recording every such file has its error; people are told of the first one, once. */
static int write_unread(const struct job *job, const char *path, int err)
{
	static bool told;

	if (!told)
		fprintf(stderr, "warning: host facts are missing in the recording, the first is %s: %s\n", path,
			error_text(err));
	told = true;
	return write_error(job, path, error_text(err));
}

static int receive_list(struct job *job, const struct child *child)
{
	for (;;) {
		char path[4096];
		struct frame frame;
		int err = child_receive(child, &job->patience, &frame, sizeof(frame));

		if (err)
			return err == -ENODATA ? 0 : err;
		if (frame.path_length >= sizeof(path))
			return -ENAMETOOLONG;
		err = child_receive(child, &job->patience, path, frame.path_length);
		if (err)
			return err;
		path[frame.path_length] = '\0';
		err = wanted_add(&job->list, path, frame.limit, frame.until);
		if (err)
			return err;
		job->list.items[job->list.count - 1].again = frame.again;
	}
}

/* NULL: none. */
static const char *file_error(int error)
{
	if (error == ETIMEDOUT)
		return error_text(-ETIMEDOUT); /* a child hangs in it */
	return error ? strerror(error) : NULL;
}

/* The first texts are the most important ones. */
static int write_text(struct job *job, const struct frame *frame, const char *text)
{
	const char *path = job->list.items[job->next].path;

	job->text_bytes += frame->text_length;
	if (job->text_bytes > FACTS_TEXTS_MAX)
		return write_error(job, path, "no room");
	return write_fact(job, frame->at_ns, path, file_error(frame->error), text, frame->text_length,
			  frame->truncated);
}

/* Records what one child reads: 0 at the end of the list, an error of the file at job->next, or of the output. */
static int receive_texts(struct job *job, const struct child *child, int *output_error)
{
	static char text[FACTS_TEXT_MAX];

	while (job->next < job->list.count) {
		struct frame frame;
		int err = child_receive(child, &job->patience, &frame, sizeof(frame));

		if (!err && frame.text_length > sizeof(text))
			err = -EMSGSIZE;
		if (!err)
			err = child_receive(child, &job->patience, text, frame.text_length);
		if (err)
			return err;
		*output_error = write_text(job, &frame, text);
		job->next++;
		if (*output_error == -EPIPE)
			return -EPIPE;
	}
	return 0;
}

static int make_list(struct job *job)
{
	struct child child;
	int err = child_start(&child, send_list, job);

	if (err)
		return err;
	err = receive_list(job, &child);
	child_end(&child, err == -ETIMEDOUT && job->list.count ? NAMESPACES : NULL);
	if (!err && child_hangs_in(NAMESPACES))
		err = -ETIMEDOUT;
	if (err == -ETIMEDOUT && job->list.count)
		err = write_unread(job, NAMESPACES, err);
	if (!err && !job->list.count)
		err = -ENODATA; /* the child ended before it had made it */
	return err;
}

static int read_list(struct job *job)
{
	bool more = true;
	int output_error = 0;

	while (job->next < job->list.count && output_error != -EPIPE) {
		struct child child;
		int err = -ETIMEDOUT;

		if (more && now_ns() < job->deadline_ns) {
			err = child_start(&child, send_texts, job);
			if (err) {
				more = false;
				continue;
			}
			err = receive_texts(job, &child, &output_error);
			more = child_end(&child, err == -ETIMEDOUT ? job->list.items[job->next].path : NULL);
		}
		if (!err || err == -EPIPE)
			continue;
		output_error = write_unread(job, job->list.items[job->next++].path, err);
	}
	return output_error;
}

/* What was there, but not recorded. */
static int write_left_out(const struct job *job)
{
	char text[96];
	int err = 0;

	if (job->count > FACTS_PIDS_MAX) {
		snprintf(text, sizeof(text), "only the first %d of %zu processes are recorded", FACTS_PIDS_MAX,
			 job->count);
		err = write_error(job, "/proc/[0-9]*", text);
	}
	if (!err && job->list.count == FACTS_PATHS_MAX) {
		snprintf(text, sizeof(text), "only the first %d files are recorded", FACTS_PATHS_MAX);
		err = write_error(job, "/sys", text);
	}
	return err;
}

void facts_leave_out_applications(void)
{
	without_applications = true;
}

int facts_write(struct output *output, const char *phase, const pid_t *pids, size_t count, unsigned int deadline_ms,
		void (*meanwhile)(void))
{
	uint64_t begin_ns = now_ns();
	struct job job = {
		.output = output, .phase = phase, .pids = pids, .count = count,
		.mask = !strcmp(phase, "begin") ? FACTS_BEGIN : !strcmp(phase, "end") ? FACTS_END : FACTS_SERIES,
		.deadline_ns = begin_ns + deadline_ms * 1000000ULL,
		.patience = {
			.limit_ns = begin_ns + FACTS_SLOWER * deadline_ms * 1000000ULL,
			.silence_ms = deadline_ms / SILENCE_PARTS + 1,
			.meanwhile = meanwhile,
		},
	};
	int err;

	child_reap();
	err = make_list(&job);
	if (err)
		err = write_unread(&job, "/proc", err);
	else
		err = read_list(&job);
	if (!err)
		err = write_left_out(&job);
	if (job.mask == FACTS_BEGIN) {
		wanted_free(&begun);
		begun = job.list;
	} else {
		wanted_free(&job.list);
	}
	return err;
}
