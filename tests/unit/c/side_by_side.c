// SPDX-License-Identifier: GPL-2.0-only
/* SOURCES: program/side_by_side.c */
/* Which programs are loaded at once and which later, and what libbpf's descriptors are then. */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "check.h"
#include "program/side_by_side.h"

int __real_bpf_prog_load(enum bpf_prog_type type, const char *name, const char *license,
			 const struct bpf_insn *instructions, size_t instruction_count,
			 struct bpf_prog_load_opts *options);
int __wrap_bpf_prog_load(enum bpf_prog_type type, const char *name, const char *license,
			 const struct bpf_insn *instructions, size_t instruction_count,
			 struct bpf_prog_load_opts *options);

#define OBJECT ((const struct bpf_object *)&loaded)

static atomic_int loaded;
static const struct bpf_insn known[1]; /* of the object; others are libbpf's own */

struct bpf_program *bpf_object__find_program_by_name(const struct bpf_object *object, const char *name)
{
	return object && strcmp(name, "of_nobody") ? (struct bpf_program *)&loaded : NULL;
}

const struct bpf_insn *bpf_program__insns(const struct bpf_program *program)
{
	(void)program;
	return known;
}

/* The kernel: it refuses what is called so, and gives a descriptor of the null device for everything else. */
int __real_bpf_prog_load(enum bpf_prog_type type, const char *name, const char *license,
			 const struct bpf_insn *instructions, size_t instruction_count,
			 struct bpf_prog_load_opts *options)
{
	(void)type, (void)license, (void)instructions, (void)instruction_count, (void)options;
	loaded++;
	return name && !strcmp(name, "refused") ? -EACCES : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int ask_with(const char *name, const struct bpf_insn *instructions, size_t instruction_count,
		    struct bpf_prog_load_opts *options)
{
	return __wrap_bpf_prog_load(BPF_PROG_TYPE_TRACING, name, "GPL", instructions, instruction_count, options);
}

static int ask(const char *name, size_t instruction_count, int module)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options, .attach_btf_obj_fd = module);

	return ask_with(name, known, instruction_count, &options);
}

static bool is_program(int fd)
{
	struct stat is, null;

	return !fstat(fd, &is) && !stat("/dev/null", &null) && is.st_rdev == null.st_rdev &&
	       fcntl(fd, F_GETFD) == FD_CLOEXEC;
}

static void test_all_are_loaded(void)
{
	const char *failed = NULL;
	int fds[40];

	side_by_side_begin(OBJECT);
	loaded = 0;
	for (int i = 0; i < 40; i++) {
		fds[i] = ask("program", 1 + i, 0);
		CHECK(fds[i] >= 0 && !is_program(fds[i]));
	}
	CHECK(loaded == 0);
	CHECK(side_by_side_load(&failed) == 0 && !failed);
	CHECK(loaded == 40);
	for (int i = 0; i < 40; i++) {
		CHECK(is_program(fds[i]));
		close(fds[i]);
	}
	side_by_side_end();
}

static void test_what_cannot_wait(void)
{
	LIBBPF_OPTS(bpf_prog_load_opts, plain);
	LIBBPF_OPTS(bpf_prog_load_opts, logged, .log_level = 1);
	struct bpf_insn on_the_stack = {};
	int module, nameless, after, own, with_log;

	side_by_side_begin(OBJECT);
	loaded = 0;
	module = ask("of_a_module", 10, 9);
	nameless = ask(NULL, 2, 0);
	CHECK(loaded == 2 && is_program(module) && is_program(nameless));
	own = ask_with("det_arg_ctx", &on_the_stack, 1, &plain);
	with_log = ask_with("program", known, 1, &logged);
	CHECK(loaded == 4 && is_program(own) && is_program(with_log));
	close(own);
	close(with_log);
	side_by_side_end();
	after = ask("program", 10, 0);
	CHECK(loaded == 5 && is_program(after));
	close(module);
	close(nameless);
	close(after);
}

/* On one CPU, so that they come one after the other, the longest first. */
static void test_one_is_refused(void)
{
	const char *failed = NULL;
	cpu_set_t all, one;
	int fds[3];

	CPU_ZERO(&one);
	CHECK(!sched_getaffinity(0, sizeof(all), &all));
	for (int cpu = 0; !CPU_COUNT(&one); cpu++)
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &one);
	CHECK(!sched_setaffinity(0, sizeof(one), &one));
	loaded = 0;
	side_by_side_begin(OBJECT);
	fds[0] = ask("first", 10, 0);
	fds[1] = ask("refused", 30, 0);
	fds[2] = ask("last", 20, 0);
	CHECK(side_by_side_load(&failed) == -EACCES);
	CHECK(failed && !strcmp(failed, "refused"));
	CHECK(loaded == 1); /* all are loaded anew without it */
	CHECK(!sched_setaffinity(0, sizeof(all), &all));
	side_by_side_end();
	for (int i = 0; i < 3; i++)
		close(fds[i]);
}

static void test_nothing_is_noted(void)
{
	const char *failed = NULL;

	side_by_side_begin(OBJECT);
	CHECK(side_by_side_load(&failed) == 0 && !failed);
	side_by_side_end();
}

int main(void)
{
	RUN(test_all_are_loaded);
	RUN(test_what_cannot_wait);
	RUN(test_one_is_refused);
	RUN(test_nothing_is_noted);
	return check_result();
}
