// SPDX-License-Identifier: GPL-2.0-only
/* The recorder's side: whom to ask about, when, and what to keep. */
#define _GNU_SOURCE
#include "symbols/remembered_maps.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/helper.h"
#include "base/monotonic.h"
#include "base/privileges.h"
#include "scripts/script_names.h"
#include "symbols/symbols.h"

#define PROCESSES 256
#define ALL_BYTES (2 * 1024 * 1024)
#define COME_BY_MS 5	    /* the socket holds answers meanwhile: no need to look at each stack */
#define GROWN_MS 2000	    /* up to this age the helper asks of itself */
#define ASKED_A_SECOND 200  /* in a storm of new processes: so many a second, at most 0.1 ms of a CPU each */
#define NAMES_A_SECOND 2000 /* of functions of scripts, about 20 us of a CPU each */
#define LONGEST_MS 1000	    /* without an answer: then the helper hangs */

static struct remembered_maps known[PROCESSES];
static size_t all_bytes;
static struct helper helper;
static const struct helper_task remembering = { "perfdiag-maps", OF_MAPS, maps_child };
static bool reads_memory;
static unsigned int outstanding; /* answers that are to come */
static int64_t progress_ms, taken_ms;

/* What has come of an answer so far. */
static struct {
	struct maps_record record;
	size_t length; /* of record and text */
	char *text;
} answer;

static struct remembered_maps *find(pid_t pid)
{
	for (size_t i = 0; i < PROCESSES; i++)
		if (known[i].pid == pid)
			return &known[i];
	return NULL;
}

const struct remembered_maps *remembered_maps_find(pid_t pid)
{
	return pid > 0 ? find(pid) : NULL;
}

pid_t remembered_maps_pid(size_t n)
{
	return n < PROCESSES ? known[n].pid : 0;
}

static struct remembered_maps *longest_unseen(bool with_text)
{
	struct remembered_maps *found = NULL;

	for (size_t i = 0; i < PROCESSES; i++)
		if ((known[i].text || !with_text) && (!found || known[i].seen_ms < found->seen_ms))
			found = &known[i];
	return found;
}

static void forget(struct remembered_maps *process)
{
	all_bytes -= process->length;
	free(process->text);
	*process = (struct remembered_maps){};
}

static struct remembered_maps *add(pid_t pid)
{
	struct remembered_maps *process = longest_unseen(false);
	int64_t now = monotonic_ms();

	forget(process);
	*process = (struct remembered_maps){ .pid = pid, .first_ms = now, .seen_ms = now };
	return process;
}

static void keep_answer(void)
{
	struct remembered_maps *process = find(answer.record.pid);

	if (!process)
		return;
	process->interpreter = answer.record.interpreter;
	process->was_asked = true;
	if (answer.record.script_file[0])
		script_files_met(answer.record.script_file, answer.record.interpreter.root);
	process->reused = process->reused || (process->text && process->start_ticks != answer.record.start_ticks);
	all_bytes += answer.record.length - process->length;
	free(process->text);
	process->text = take_pointer(answer.text);
	process->length = answer.record.length;
	process->start_ticks = answer.record.start_ticks;
	while (all_bytes > ALL_BYTES)
		forget(longest_unseen(true));
}

static void drop_answer(void)
{
	free(answer.text);
	answer.text = NULL;
	answer.length = 0;
}

/* Reads once; false when there is no more to come. */
static bool read_answer(void)
{
	size_t head = sizeof(answer.record), done = answer.length;
	char *to = done < head ? (char *)&answer.record + done : answer.text + (done - head);
	ssize_t n = read(helper.fd, to, (done < head ? head : head + answer.record.length) - done);

	if (n <= 0)
		return n < 0 && errno == EINTR;
	answer.length += n;
	if (answer.length == head) {
		if (answer.record.length > (answer.record.code ? SCRIPT_NAME_BYTES : LARGEST_MAPS_BYTES))
			return false;
		answer.text = malloc(answer.record.length + 1);
		if (!answer.text)
			return false;
	}
	if (answer.length >= head && answer.length == head + answer.record.length) {
		progress_ms = monotonic_ms();
		outstanding -= outstanding && !answer.record.unasked;
		if (answer.record.code)
			script_names_take(answer.record.pid, answer.record.code, answer.text, answer.record.length,
					  answer.record.no_function);
		else if (answer.record.length)
			keep_answer();
		drop_answer();
	}
	return true;
}

static void end_helper(void)
{
	helper_end(&helper);
	drop_answer();
	script_names_forget_unanswered();
	outstanding = 0;
}

/* Takes all that is there, and until the deadline all that is to come. */
static void take_answers(int64_t deadline)
{
	struct pollfd readable = { .fd = helper.fd, .events = POLLIN };

	while (helper.pid) {
		int64_t left = deadline - monotonic_ms();

		if (poll(&readable, 1, outstanding && left > 0 ? left : 0) > 0) {
			if (!read_answer())
				end_helper();
		} else if (!outstanding || left <= 0) {
			break;
		}
	}
	taken_ms = monotonic_ms();
	if (outstanding && taken_ms - progress_ms > LONGEST_MS)
		end_helper();
}

/* So many a second are asked for. */
struct rate {
	unsigned int most, asked;
	int64_t since_ms;
};

static bool too_many(struct rate *rate, int64_t now)
{
	if (now - rate->since_ms >= 1000) {
		rate->since_ms = now;
		rate->asked = 0;
	}
	return rate->asked++ >= rate->most;
}

static bool send_question(pid_t pid, uint64_t code, int64_t now)
{
	struct maps_question question = { .pid = pid, .code = code };

	if (!helper.pid && helper_start(&helper, &remembering, &reads_memory))
		return false;
	if (!outstanding)
		progress_ms = now;
	if (send(helper.fd, &question, sizeof(question), MSG_DONTWAIT | MSG_NOSIGNAL) != sizeof(question))
		return false;
	outstanding++;
	return true;
}

static void ask(struct remembered_maps *process, int64_t now)
{
	int64_t age = now - process->first_ms;

	process->next_ms = now + (age > GROWN_MS ? age : GROWN_MS);
	send_question(process->pid, 0, now);
}

bool remembered_maps_ask_name(pid_t pid, uint64_t code)
{
	static struct rate names = { .most = NAMES_A_SECOND };
	int64_t now = monotonic_ms();

	return !too_many(&names, now) && send_question(pid, code, now);
}

void user_symbols_read_memory(bool read)
{
	reads_memory = read;
}

bool remembered_maps_reads_memory(void)
{
	return reads_memory;
}

bool user_symbols_interpreter(pid_t pid, struct interpreter *ret)
{
	struct remembered_maps *process = find(pid);

	if (!process || !process->was_asked)
		return false;
	process->was_asked = false;
	*ret = process->interpreter;
	return true;
}

void user_symbols_meet(pid_t pid, bool after_exec)
{
	static struct rate processes = { .most = ASKED_A_SECOND };
	int64_t now = monotonic_ms();
	struct remembered_maps *process;

	if (pid <= 0)
		return;
	process = find(pid);
	if (!process)
		process = add(pid);
	process->seen_ms = now;
	if (after_exec)
		process->first_ms = process->next_ms = now;
	if (now >= process->next_ms && !too_many(&processes, now))
		ask(process, now);
	if (now - taken_ms >= COME_BY_MS)
		take_answers(now);
}

void remembered_maps_refresh(const pid_t *pids, size_t count, unsigned int deadline_ms)
{
	int64_t deadline = monotonic_ms() + deadline_ms, now = monotonic_ms();

	for (size_t i = 0; i < count; i++) {
		struct remembered_maps *process = pids[i] > 0 ? find(pids[i]) : NULL;

		/* Room for the living is not made by forgetting the dead. */
		if (!process && pids[i] > 0 && !longest_unseen(false)->pid)
			process = add(pids[i]);
		if (process && process->refreshed_ms != now) {
			process->refreshed_ms = now;
			ask(process, now);
		}
	}
	take_answers(deadline);
}

void user_symbols_end(void)
{
	if (helper.pid)
		end_helper();
	for (size_t i = 0; i < PROCESSES; i++)
		forget(&known[i]);
}
