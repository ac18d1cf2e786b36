// SPDX-License-Identifier: GPL-2.0-only
/* The parent's side against children that do what they should not. */
/* SOURCES: symbols/user_symbols.c base/helper.c symbols/remembered_maps.c symbols/maps_child.c scripts/interpreters.c scripts/script_names.c scripts/perl.c scripts/php.c scripts/python.c scripts/ruby.c scripts/v8.c base/memory_symbols.c output/json.c output/output.c base/process_files.c base/capabilities.c */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/monotonic.h"
#include "symbols/symbols.h"
#include "symbols/symbols_child.h"
#include "check.h"

#define COUNT 3
#define DEADLINE_MS 1000 /* in which a child says a word, also on a busy host */

static void (*behave)(int fd); /* what the child does */

_Noreturn void symbols_child(const struct user_address *addresses, size_t count, int results_fd,
			     unsigned int deadline_ms)
{
	(void)addresses, (void)count, (void)deadline_ms;
	behave(results_fd);
	_exit(0);
}

static void send(int fd, uint32_t index, uint32_t length, const char *name)
{
	struct symbol_record record = { .index = index, .length = length };

	if (write(fd, &record, sizeof(record)) < 0 || write(fd, name, strlen(name)) < 0)
		_exit(1);
}

static int resolve_within(unsigned int deadline_ms, struct user_address *addresses, void (*child)(int fd))
{
	behave = child;
	memset(addresses, 0, COUNT * sizeof(*addresses));
	return user_symbols_resolve(addresses, COUNT, deadline_ms);
}

/* For children that end, or are ended, before any deadline. */
static int resolve(struct user_address *addresses, void (*child)(int fd))
{
	return resolve_within(2 * PATIENCE_MS, addresses, child);
}

static void release(struct user_address *addresses)
{
	for (int i = 0; i < COUNT; i++)
		free(addresses[i].name);
	user_symbols_end();
	CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD); /* no zombie */
}

static void name_two(int fd)
{
	send(fd, 2, 5, "three");
	send(fd, 0, 3, "one");
	send(fd, INDEX_DONE, 0, "");
}

static void takes_names_in_any_order(void)
{
	struct user_address addresses[COUNT];

	CHECK_NUMBER(resolve(addresses, name_two), 2);
	CHECK_TEXT(addresses[0].name, "one");
	CHECK_TEXT(addresses[1].name, NULL);
	CHECK_TEXT(addresses[2].name, "three");
	for (int i = 0; i < COUNT; i++)
		CHECK_NUMBER(addresses[i].lack, LACK_NONE);
	release(addresses);
}

static void name_and_stop(int fd)
{
	send(fd, 1, 3, "two");
	send(fd, INDEX_READS, 4, "file");
	raise(SIGSTOP);
}

static void keeps_the_deadline(void)
{
	struct user_address addresses[COUNT];
	int64_t begin = monotonic_ms(), took;

	CHECK_NUMBER(resolve_within(DEADLINE_MS, addresses, name_and_stop), 1);
	took = monotonic_ms() - begin;
	CHECK(took >= DEADLINE_MS && took < DEADLINE_MS + PATIENCE_MS);
	CHECK_TEXT(addresses[1].name, "two");
	CHECK_NUMBER(addresses[0].lack, LACK_LATE);
	CHECK_NUMBER(addresses[1].lack, LACK_NONE);
	CHECK_TEXT(user_symbols_broke_in(), "file");
	release(addresses);
}

static void trickle(int fd)
{
	for (;;) {
		if (write(fd, "", 1) < 0)
			_exit(1);
		usleep(10000);
	}
}

static void keeps_the_deadline_under_a_trickle(void)
{
	struct user_address addresses[COUNT];
	int64_t begin = monotonic_ms();

	resolve_within(DEADLINE_MS, addresses, trickle);
	CHECK(monotonic_ms() - begin < DEADLINE_MS + PATIENCE_MS);
	release(addresses);
}

static void name_and_die(int fd)
{
	send(fd, INDEX_READS, 5, "other");
	send(fd, INDEX_READS, 4, "file");
	send(fd, 0, 3, "one");
	send(fd, 1, 300, "cut short");
	raise(SIGKILL);
}

static void keeps_what_a_dead_child_said(void)
{
	struct user_address addresses[COUNT];

	CHECK_NUMBER(resolve(addresses, name_and_die), 1);
	CHECK_TEXT(addresses[0].name, "one");
	CHECK_TEXT(addresses[1].name, NULL);
	CHECK_NUMBER(addresses[0].lack, LACK_NONE);
	CHECK_NUMBER(addresses[1].lack, LACK_ENDED);
	CHECK_TEXT(user_symbols_broke_in(), "file");
	release(addresses);
}

static void scan_and_die(int fd)
{
	(void)fd;
	raise(SIGKILL);
}

/* Words of a stack that may be no code at all lack no name. */
static void misses_no_name_of_what_was_scanned(void)
{
	struct user_address addresses[COUNT] = { { .address = 1 }, { .address = 2, .only_code = true } };

	behave = scan_and_die;
	CHECK_NUMBER(user_symbols_resolve(addresses, 2, 2 * PATIENCE_MS), 0);
	CHECK_NUMBER(addresses[0].lack, LACK_ENDED);
	CHECK_NUMBER(addresses[1].lack, LACK_NONE);
	CHECK_TEXT(user_symbols_broke_in(), "");
	user_symbols_end();
}

static void point_outside(int fd)
{
	send(fd, 0, 3, "one");
	send(fd, COUNT, 3, "bad");
	send(fd, 1, 3, "two");
}

static void say_too_much(int fd)
{
	char name[LONGEST_SYMBOL_NAME + 2] = {};

	memset(name, 'x', LONGEST_SYMBOL_NAME + 1);
	send(fd, 0, 3, "one");
	send(fd, 1, LONGEST_SYMBOL_NAME + 1, name);
}

static void say_nothing(int fd)
{
	send(fd, 0, 3, "one");
	send(fd, 1, 0, "");
}

static void say_it_twice(int fd)
{
	send(fd, 0, 3, "one");
	send(fd, 0, 3, "two");
}

static void name_a_file_at_length(int fd)
{
	char name[LONGEST_MODULE_NAME + 2] = {};

	memset(name, 'x', LONGEST_MODULE_NAME + 1);
	send(fd, 0, 3, "one");
	send(fd, INDEX_READS, LONGEST_MODULE_NAME + 1, name);
}

static void lack_what_is_not_there(int fd)
{
	struct symbol_record record = { .index = 1, .lack = LACKS, .length = 1 };

	send(fd, 0, 3, "one");
	if (write(fd, &record, sizeof(record)) < 0 || write(fd, "x", 1) < 0)
		_exit(1);
}

static void flood(int fd)
{
	send(fd, 0, 3, "one");
	for (;;)
		if (write(fd, "\xff\xff\xff\xff\xff\xff\xff\xff", 8) < 0)
			_exit(1);
}

static void stops_listening_to_nonsense(void)
{
	void (*const children[])(int) = { point_outside,	 say_too_much,		 say_nothing, say_it_twice,
					  name_a_file_at_length, lack_what_is_not_there, flood };

	for (size_t i = 0; i < sizeof(children) / sizeof(children[0]); i++) {
		struct user_address addresses[COUNT];

		CHECK_NUMBER(resolve(addresses, children[i]), 1);
		CHECK_TEXT(addresses[0].name, "one");
		CHECK_TEXT(addresses[1].name, NULL);
		CHECK_NUMBER(addresses[1].lack, LACK_ENDED);
		release(addresses);
	}
}

static void leaves_signals_as_they_were(void)
{
	struct user_address addresses[COUNT];
	sigset_t before, after;

	sigemptyset(&before);
	sigaddset(&before, SIGUSR1);
	sigprocmask(SIG_SETMASK, &before, NULL);
	resolve(addresses, name_two);
	sigprocmask(SIG_SETMASK, NULL, &after);
	for (int number = 1; number < NSIG; number++)
		CHECK_NUMBER(sigismember(&after, number), number == SIGUSR1);
	release(addresses);
	CHECK_NUMBER(user_symbols_resolve(NULL, 0, 200), 0);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	RUN(takes_names_in_any_order);
	RUN(keeps_the_deadline);
	RUN(keeps_the_deadline_under_a_trickle);
	RUN(keeps_what_a_dead_child_said);
	RUN(misses_no_name_of_what_was_scanned);
	RUN(stops_listening_to_nonsense);
	RUN(leaves_signals_as_they_were);
	return check_result();
}
