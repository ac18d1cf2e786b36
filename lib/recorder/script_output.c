// SPDX-License-Identifier: GPL-2.0-only
/* What a script prints, passed on; and what it cannot know of its host added: to its header, and as lines of facts. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "cleanup.h"
#include "facts.h"
#include "privileges.h"
#include "script.h"

#define FOOTER "{\"type\":\"footer\""
#define TOLD "\"reason\":\"signal\""
#define WITHOUT "{\"type\":\"header\"" /* of a line that has only what is added */

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
	fprintf(stderr, "perfdiag-recorder: attached, by %s\n", script->engine->name);
	control_say(options->control_fd, "attached\n");
	facts_write(&recorder->output, "begin", options->pids, options->pid_count, options->patience_ms, NULL);
	return 0;
}

void script_end_facts(struct script *script, struct recorder *recorder)
{
	const struct options *options = &recorder->options;

	if (script->facts_ended || !script->begun)
		return;
	script->facts_ended = true;
	facts_write(&recorder->output, "end", options->pids, options->pid_count, options->patience_ms, NULL);
}

/* A script only sees that it was told to end; why, it cannot know. */
static int write_footer(struct script *script, struct recorder *recorder, const char *line, size_t length)
{
	const char *told = memmem(line, length, TOLD, strlen(TOLD));
	_cleanup_free_ char *whole = NULL;
	int written;

	script_end_facts(script, recorder);
	if (!told || !recorder->reason)
		return output_line(&recorder->output, line, length);
	written = asprintf(&whole, "%.*s\"reason\":\"%s\"%.*s", (int)(told - line), line, recorder->reason,
			   (int)(line + length - told - strlen(TOLD)), told + strlen(TOLD));
	return written < 0 ? -ENOMEM : output_line(&recorder->output, whole, written);
}

static int pass_on_line(struct script *script, struct recorder *recorder, const char *line, size_t length)
{
	if (!length)
		return 0;
	if (!script->begun)
		return begin(script, recorder, line, length);
	if (length >= strlen(FOOTER) && !memcmp(line, FOOTER, strlen(FOOTER)))
		return write_footer(script, recorder, line, length);
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
