// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loading programs side by side.  Most of a start is the kernel's verifier, and libbpf hands it one program after the
 * other.  So bpf_prog_load() as libbpf calls it is replaced (ld --wrap): it notes the program and returns a descriptor of
 * nothing.  When libbpf is done, threads load what was noted, the longest first, and put each program behind the
 * descriptor that libbpf keeps for it.
 */
#define _GNU_SOURCE
#include <bpf/bpf.h>
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
static bool is_noting;

/* libbpf closes what tells types of modules before it returns, and asks with nameless programs what the kernel can do. */
static bool can_wait(const char *name, const struct bpf_prog_load_opts *options)
{
	return is_noting && name && noted_count < MOST_PROGRAMS && !options->attach_btf_obj_fd && !options->fd_array;
}

int __wrap_bpf_prog_load(enum bpf_prog_type type, const char *name, const char *license,
			 const struct bpf_insn *instructions, size_t instruction_count,
			 struct bpf_prog_load_opts *options)
{
	int fd;

	if (!can_wait(name, options))
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
	for (size_t i = next++; i < noted_count; i = next++)
		noted[i].err = load(&noted[i]);
	return unused;
}

static int by_length(const void *one, const void *other)
{
	size_t its = ((const struct noted_program *)one)->instruction_count;
	size_t others = ((const struct noted_program *)other)->instruction_count;

	return its < others ? 1 : -(its > others);
}

static int usable_cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
}

void side_by_side_begin(void)
{
	is_noting = true;
	noted_count = 0;
}

void side_by_side_end(void)
{
	is_noting = false;
	noted_count = 0;
}

int side_by_side_load(const char **failed)
{
	pthread_t threads[MOST_THREADS - 1];
	pthread_attr_t small;
	int count = 0;

	is_noting = false;
	qsort(noted, noted_count, sizeof(*noted), by_length);
	next = 0;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK_BYTES);
	while (count < MOST_THREADS - 1 && count < usable_cpus() - 1 &&
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
