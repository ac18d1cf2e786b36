// SPDX-License-Identifier: GPL-2.0-only
/* SOURCES: program/side_by_side.c */
/* Which programs are loaded at once and which later, and what libbpf's descriptors are then. */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
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

static atomic_int loaded;

/* The kernel: it refuses what is called so, and gives a descriptor of the null device for everything else. */
int __real_bpf_prog_load(enum bpf_prog_type type, const char *name, const char *license,
			 const struct bpf_insn *instructions, size_t instruction_count,
			 struct bpf_prog_load_opts *options)
{
	(void)type, (void)license, (void)instructions, (void)instruction_count, (void)options;
	loaded++;
	return name && !strcmp(name, "refused") ? -EACCES : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int ask(const char *name, size_t instruction_count, int module)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options, .attach_btf_obj_fd = module);

	return __wrap_bpf_prog_load(BPF_PROG_TYPE_TRACING, name, "GPL", NULL, instruction_count, &options);
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

	side_by_side_begin();
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
	int module, nameless, after;

	side_by_side_begin();
	loaded = 0;
	module = ask("of_a_module", 10, 9);
	nameless = ask(NULL, 2, 0);
	CHECK(loaded == 2 && is_program(module) && is_program(nameless));
	side_by_side_end();
	after = ask("program", 10, 0);
	CHECK(loaded == 3 && is_program(after));
	close(module);
	close(nameless);
	close(after);
}

static void test_one_is_refused(void)
{
	const char *failed = NULL;
	int fds[3];

	side_by_side_begin();
	fds[0] = ask("first", 10, 0);
	fds[1] = ask("refused", 30, 0);
	fds[2] = ask("last", 20, 0);
	CHECK(side_by_side_load(&failed) == -EACCES);
	CHECK(failed && !strcmp(failed, "refused"));
	side_by_side_end();
	for (int i = 0; i < 3; i++)
		close(fds[i]);
}

static void test_nothing_is_noted(void)
{
	const char *failed = NULL;

	side_by_side_begin();
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
