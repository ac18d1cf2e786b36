// SPDX-License-Identifier: GPL-2.0-only
/* What a script prints, passed on; and what it cannot know of its host added: to its header, and as lines of facts. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "facts/facts.h"
#include "base/privileges.h"
#include "script/script.h"
#include "script/script_sleepers.h"

#define FOOTER "{\"type\":\"footer\""
#define THREAD "{\"type\":\"thread\""
#define TOLD "\"reason\":\"signal\""
#define SEEN "\"threads_seen\":"
#define WITHOUT "{\"type\":\"header\"" /* of a line that has only what is added */

/* Of a line that is the script's own; 0: it has no such field. */
static uint64_t number_of(const char *line, size_t length, const char *field)
{
	const char *found = memmem(line, length, field, strlen(field));

	return found ? strtoull(found + strlen(field), NULL, 10) : 0; /* a line ends with a newline, or a zero */
}

/* Its header stays its own: behind its last field others follow. */
static int write_header(const struct script *script, struct recorder *recorder, const char *line, size_t length)
{
	struct json *json = &recorder->json;
	_cleanup_free_ char *whole = NULL;
	size_t added;

	if (length < 2 || line[length - 1] != '}')
		return output_line(&recorder->output, line, length);
	json_open(json, "header");
	header_add_host(json);
	if (script->because)
		json_text(json, "because", script->because);
	json_end(json);
	added = json->length - strlen(WITHOUT);
	whole = json->failed ? NULL : malloc(length - 1 + added);
	if (!whole)
		return -ENOMEM;
	memcpy(whole, line, length - 1);
	memcpy(whole + length - 1, json->data + strlen(WITHOUT), added);
	return output_line(&recorder->output, whole, length - 1 + added);
}

/* With the first line the window has begun. */
static int begin(struct script *script, struct recorder *recorder, const char *line, size_t length)
{
	const struct options *options = &recorder->options;
	struct itimerspec window = { .it_value = { .tv_sec = options->duration_ns / NS_PER_SECOND,
						   .tv_nsec = options->duration_ns % NS_PER_SECOND } };
	int err;

	script->begun = true;
	script->start_ns = number_of(line, length, "\"start_ns\":");
	if (timerfd_settime(script->timer, 0, &window, NULL)) /* 0 ns: never */
		return -errno;
	err = write_header(script, recorder, line, length) ?: privileges_attached();
	if (err)
		return err;
	if (script->because)
		fprintf(stderr,
			"note: %s records: %s\n"
			"note: it sees less: one process without those that it starts, fewer accounts, no requests and"
			" no stacks\n",
			script->engine->name, script->because);
	script_sleepers_begin(options->pids[0]);
	fprintf(stderr, "perfdiag-recorder: attached, by %s\n", script->engine->name);
	err = control_attached(options->control_fd);
	if (err)
		return err;
	facts_write(&recorder->output, "begin", options->pids, options->pid_count, options->patience_ms, NULL);
	return 0;
}

void script_end_facts(struct script *script, struct recorder *recorder)
{
	const struct options *options = &recorder->options;

	if (script->facts_ended || !script->begun)
		return;
	script->facts_ended = true;
	script_sleepers_end(options->pids[0]);
	facts_write(&recorder->output, "end", options->pids, options->pid_count, options->patience_ms, NULL);
}

/* What stands at `at` in a text gives way to other words; 0 or -ENOMEM. */
static int replace(char **text, char *at, size_t length, const char *words)
{
	char *whole = NULL;
	int written = asprintf(&whole, "%.*s%s%s", (int)(at - *text), *text, words, at + length);

	if (written < 0)
		return -ENOMEM;
	free(*text);
	*text = whole;
	return 0;
}

/* Threads that the script saw nothing of are among those that were seen, where /proc tells that they slept. */
static int count_unseen(char **footer, const struct unseen *unseen)
{
	char *seen = strstr(*footer, SEEN), *end, words[128];
	int err;

	if (!seen)
		return 0;
	snprintf(words, sizeof(words), SEEN "%" PRIu64,
		 unseen->asleep + (uint64_t)strtoull(seen + strlen(SEEN), &end, 10));
	err = replace(footer, seen, end - seen, words);
	end = strrchr(*footer, '}');
	if (err || !end)
		return err;
	snprintf(words, sizeof(words), ",\"threads_asleep\":%" PRIu64 ",\"threads_not_seen\":%" PRIu64 "}",
		 unseen->asleep, unseen->other);
	return replace(footer, end, 1, words);
}

/* A script only sees that it was told to end; why, it cannot know. */
static int write_footer(struct script *script, struct recorder *recorder, const char *line, size_t length)
{
	_cleanup_free_ char *footer = strndup(line, length), *reason = NULL;
	struct unseen unseen;
	char *told;
	int err = 0;

	if (!footer)
		return -ENOMEM;
	script_end_facts(script, recorder);
	told = strstr(footer, TOLD);
	if (told && recorder->reason) {
		if (asprintf(&reason, "\"reason\":\"%s\"", recorder->reason) < 0)
			return -ENOMEM;
		err = replace(&footer, told, strlen(TOLD), reason);
	}
	if (!err && script->start_ns) {
		err = script_sleepers_write(&recorder->output, recorder->options.pids[0], script->start_ns,
					    number_of(line, length, "\"at_ns\":"), &unseen);
		err = err == -ENODATA ? 0 : err ?: count_unseen(&footer, &unseen);
	}
	return err ?: output_line(&recorder->output, footer, strlen(footer));
}

static int pass_on_line(struct script *script, struct recorder *recorder, const char *line, size_t length)
{
	if (!length)
		return 0;
	if (!script->begun)
		return begin(script, recorder, line, length);
	if (length >= strlen(FOOTER) && !memcmp(line, FOOTER, strlen(FOOTER)))
		return write_footer(script, recorder, line, length);
	if (length >= strlen(THREAD) && !memcmp(line, THREAD, strlen(THREAD)))
		script_sleepers_seen(line, length);
	return output_line(&recorder->output, line, length);
}

int script_pass_on(struct script *script, struct recorder *recorder)
{
	ssize_t got = read(script->output, script->line + script->length, LINE_BYTES - script->length);
	char *from = script->line, *newline;
	int err = 0;

	if (!got)
		return 0;
	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 1 : -errno;
	script->length += got;
	while (!err && (newline = memchr(from, '\n', script->length))) {
		err = pass_on_line(script, recorder, from, newline - from);
		script->length -= newline + 1 - from;
		from = newline + 1;
	}
	memmove(script->line, from, script->length);
	err = err ?: output_flush(&recorder->output);
	if (!err && script->length == LINE_BYTES)
		err = -EMSGSIZE;
	return err ?: 1;
}
