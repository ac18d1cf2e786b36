// SPDX-License-Identifier: GPL-2.0-only
/* What comes through the ring buffer: stacks (stacks.c folds them), exits, execs, joins, kills, refusals, wake-ups. */
#define _GNU_SOURCE
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/apps.h"
#include "recorder.h"
#include "perfdiag.skel.h"

#define EVENT_LINES 32768 /* a target that starts a thousand programs a second fills them in half a minute */

static struct ring_buffer *ring;

static bool has_room(struct recorder *recorder)
{
	if (recorder->events < EVENT_LINES) {
		recorder->events++;
		return true;
	}
	recorder->events_lost++;
	return false;
}

static void open_event(struct json *json, const struct event *event, const char *name, const void *text, size_t length)
{
	json_open(json, "event");
	json_u64(json, "at_ns", event->at);
	json_text(json, "name", name);
	json_u64(json, "pid", event->tgid);
	json_u64(json, "tid", event->tid);
	json_bytes(json, "text", text, length);
}

static void write_event(struct recorder *recorder, const struct event *event, const char *name, const void *text,
			size_t length)
{
	if (!has_room(recorder))
		return;
	open_event(&recorder->json, event, name, text, length);
	json_write(&recorder->json, &recorder->output);
}

static void write_kill(struct recorder *recorder, const struct kill_event *kill)
{
	struct json *json = &recorder->json;

	if (!has_room(recorder))
		return;
	open_event(json, &kill->event, "oom_kill", kill->comm, strnlen(kill->comm, COMM_BYTES));
	json_u64(json, "by_pid", kill->asker);
	json_bytes(json, "by_comm", kill->asker_comm, strnlen(kill->asker_comm, COMM_BYTES));
	json_write(json, &recorder->output);
}

/* Of a process that a signal ended. */
static void write_signal(struct recorder *recorder, const struct exit_event *exit)
{
	int signal = SIGNAL_OF(exit->exit_code);
	const char *name = sigabbrev_np(signal);
	struct json *json = &recorder->json;
	char text[32];

	if (!exit->process_ended || !signal || !has_room(recorder))
		return;
	snprintf(text, sizeof(text), name ? "SIG%s" : "signal", name);
	open_event(json, &exit->event, "signal", text, strlen(text));
	json_u64(json, "signal", signal);
	json_bool(json, "core_dumped", exit->exit_code & CORE_DUMPED);
	json_bytes(json, "by_comm", exit->record.process_comm, strnlen(exit->record.process_comm, COMM_BYTES));
	json_write(json, &recorder->output);
}

static int on_event(void *context, void *data, size_t size)
{
	struct recorder *recorder = context;
	const struct event *event = data;

	switch (event->kind) {
	case EVENT_STACK: stacks_add(recorder, data); return 0;
	case EVENT_EXIT: {
		struct exit_event exit;

		memcpy(&exit, data, size < sizeof(exit) ? size : sizeof(exit));
		rows_exited(recorder, &exit.record, exit.process_ended);
		if (!recorder->options.host) /* which has too many to tell each */
			write_signal(recorder, &exit);
		if (exit.process_ended)
			apps_forget(recorder, event->tgid);
		return 0;
	}
	case EVENT_EXEC: {
		const struct exec_event *exec = data;

		user_symbols_meet(event->tgid, true);
		apps_meet(recorder, event->tgid);
		write_event(recorder, event, "exec", exec->comm, strnlen(exec->comm, COMM_BYTES));
		return 0;
	}
	case EVENT_REFUSED: {
		const struct refused_event *refused = data;
		const char *name = refused->error == EMFILE ? "EMFILE" : "ENFILE";

		write_event(recorder, event, name, name, strlen(name));
		return 0;
	}
	case EVENT_KILL: write_kill(recorder, data); return 0;
	case EVENT_AWAKE: recorder->awake = true; return 0;
	case EVENT_MANY_CALLS: probes_end_failed_calls(recorder); return 0;
	case EVENT_PEER: return probes_meet_peers(recorder);
	case EVENT_MEET: probes_meet(recorder, event->tid); return 0;
	case EVENT_JOIN: {
		const struct join_event *join = data;

		user_symbols_meet(event->tgid, false);
		apps_meet(recorder, event->tgid);
		write_event(recorder, event, "join", join->comm, strnlen(join->comm, COMM_BYTES));
		return 0;
	}
	}
	return 0;
}

int events_open(struct recorder *recorder)
{
	ring = ring_buffer__new(bpf_map__fd(recorder->skeleton->maps.ring), on_event, recorder, NULL);
	if (!ring)
		return -errno;
	recorder->ring_fd = ring_buffer__epoll_fd(ring);
	user_symbols_read_memory(!recorder->options.no_apps);
	for (size_t i = 0; i < recorder->options.pid_count; i++)
		if (!recorder->options.on_exec[i])
			user_symbols_meet(recorder->options.pids[i], false);
	return 0;
}

int events_consume(void)
{
	int count = ring_buffer__consume(ring);

	return count < 0 ? count : 0;
}

void events_pass(void)
{
	events_consume(); /* its error is permanent: the loop meets it, too */
}

void events_close(void)
{
	ring_buffer__free(ring);
	ring = NULL;
}
