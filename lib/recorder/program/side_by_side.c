// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loading programs side by side.  Most of a start is the kernel's verifier, and libbpf hands it one program after the
 * other.  So bpf_prog_load() as libbpf calls it is replaced (ld --wrap): it notes the program and returns a descriptor of
 * nothing.  When libbpf is done, threads load what was noted, the longest first, and put each program behind the
 * descriptor that libbpf keeps for it.
 */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "program/side_by_side.h"

#define MOST_PROGRAMS 256
#define MOST_THREADS 4		 /* the longest program takes a fifth of the time of all */
#define STACK_BYTES (256 * 1024) /* 8 MB each would count against a limit of memory */

typedef int bpf_prog_load_function(enum bpf_prog_type type, const char *name, const char *license,
				   const struct bpf_insn *instructions, size_t instruction_count,
				   struct bpf_prog_load_opts *options);

bpf_prog_load_function __real_bpf_prog_load, __wrap_bpf_prog_load;

struct noted_program {
	enum bpf_prog_type type;
	const char *name, *license; /* libbpf's, as the instructions are, until the object goes */
	const struct bpf_insn *instructions;
	size_t instruction_count;
	struct bpf_prog_load_opts options;
	int fd; /* that libbpf has been given */
	int err;
};

static struct noted_program noted[MOST_PROGRAMS];
static size_t noted_count;
static atomic_size_t next;
static atomic_bool has_failed;
static const struct bpf_object *noting; /* the object whose programs are noted; NULL: each is loaded when asked for */

/*
 * Programs of the object alone: libbpf asks the kernel what it can do with small ones of its own, which lie on its stack
 * and of which newer ones have names.  Types of modules, and a log, are gone when it returns.
 */
static bool can_wait(const char *name, const struct bpf_insn *instructions, const struct bpf_prog_load_opts *options)
{
	const struct bpf_program *program = noting && name ? bpf_object__find_program_by_name(noting, name) : NULL;

	return program && bpf_program__insns(program) == instructions && noted_count < MOST_PROGRAMS &&
	       !options->attach_btf_obj_fd && !options->fd_array && !options->log_level;
}

int __wrap_bpf_prog_load(enum bpf_prog_type type, const char *name, const char *license,
			 const struct bpf_insn *instructions, size_t instruction_count,
			 struct bpf_prog_load_opts *options)
{
	int fd;

	if (!can_wait(name, instructions, options))
		return __real_bpf_prog_load(type, name, license, instructions, instruction_count, options);
	fd = eventfd(0, EFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	noted[noted_count++] = (struct noted_program){
		.type = type,
		.name = name,
		.license = license,
		.instructions = instructions,
		.instruction_count = instruction_count,
		.options = *options,
		.fd = fd,
	};
	return fd;
}

static int load(struct noted_program *program)
{
	int err, fd = __real_bpf_prog_load(program->type, program->name, program->license, program->instructions,
					   program->instruction_count, &program->options);

	if (fd < 0)
		return fd;
	err = dup3(fd, program->fd, O_CLOEXEC) < 0 ? -errno : 0;
	close(fd);
	return err;
}

static void *load_next(void *unused)
{
	for (size_t i = next++; !has_failed && i < noted_count; i = next++) {
		noted[i].err = load(&noted[i]);
		if (noted[i].err)
			has_failed = true; /* all are loaded anew without it */
	}
	return unused;
}

static int by_length(const void *one, const void *other)
{
	size_t its = ((const struct noted_program *)one)->instruction_count;
	size_t others = ((const struct noted_program *)other)->instruction_count;

	return its < others ? 1 : -(its > others);
}

static int thread_count(void)
{
	cpu_set_t set;

	/* It fails where the host has more CPUs than fit. */
	if (sched_getaffinity(0, sizeof(set), &set) || CPU_COUNT(&set) > MOST_THREADS)
		return MOST_THREADS;
	return CPU_COUNT(&set);
}

void side_by_side_begin(const struct bpf_object *object)
{
	noting = object;
}

void side_by_side_end(void)
{
	noting = NULL;
	noted_count = 0;
}

int side_by_side_load(const char **failed)
{
	pthread_t threads[MOST_THREADS - 1];
	pthread_attr_t small;
	int count = 0, most = thread_count();

	noting = NULL;
	has_failed = false;
	qsort(noted, noted_count, sizeof(*noted), by_length);
	next = 0;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK_BYTES);
	while (count + 1 < most && (size_t)count + 1 < noted_count &&
	       !pthread_create(&threads[count], &small, load_next, NULL))
		count++;
	pthread_attr_destroy(&small);
	load_next(NULL);
	while (count)
		pthread_join(threads[--count], NULL);
	for (size_t i = 0; i < noted_count; i++) {
		if (!noted[i].err)
			continue;
		*failed = noted[i].name;
		return noted[i].err;
	}
	return 0;
}
