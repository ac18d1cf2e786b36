// SPDX-License-Identifier: GPL-2.0-only
/* Asks for names of this very process, whose functions are known. */
/* SOURCES: symbols/user_symbols.c base/helper.c symbols/remembered_maps.c symbols/maps_child.c scripts/interpreters.c scripts/script_names.c scripts/perl.c scripts/php.c scripts/python.c scripts/ruby.c scripts/v8.c base/memory_symbols.c output/json.c output/output.c base/process_files.c symbols/symbols_child.c symbols/symbols_filter.c symbols/process_maps.c symbols/elf_symbols.c symbols/go_symbols.c symbols/perf_map.c symbols/hotspot_code.c base/hotspot_layout.c base/capabilities.c */
/* LIBS: -lelf -llzma -lseccomp */
/* WRAPS: elf_version */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/monotonic.h"
#include "symbols/symbols.h"
#include "check.h"

#define DEADLINE_MS 5000

#ifdef __SANITIZE_ADDRESS__
#define SLOWDOWN 10
#else
#define SLOWDOWN 1
#endif

int main(void);

static char module[256]; /* "(name of this program)" */
static bool hang;	 /* the child stops where it begins to read files */
static bool overstep;	 /* it makes a system call there that it has no need of */
static bool tell_user;	 /* the child tells what it may do then */

unsigned int __real_elf_version(unsigned int version);
unsigned int __wrap_elf_version(unsigned int version);

unsigned int __wrap_elf_version(unsigned int version)
{
	while (hang)
		__asm__ volatile("");
	if (overstep)
		getppid();
	if (tell_user && (!geteuid() || !getegid() || getgroups(0, NULL) || open("/proc/1/environ", O_RDONLY) >= 0))
		abort(); /* then nothing is named */
	return __real_elf_version(version);
}

__attribute__((noinline)) static int known_function(int x)
{
	__asm__ volatile("");
	return x + 1;
}

static char *name_of(const void *address, bool return_address, bool only_code)
{
	struct user_address asked = {
		.pid = getpid(),
		.address = (uintptr_t)address,
		.return_address = return_address,
		.only_code = only_code,
	};
	int named = user_symbols_resolve(&asked, 1, DEADLINE_MS);

	CHECK_NUMBER(named, asked.name != NULL);
	return asked.name;
}

static void check_name(const void *address, bool return_address, bool only_code, const char *should)
{
	char *name = name_of(address, return_address, only_code);

	CHECK_TEXT(name, should);
	free(name);
}

static void names_own_functions(void)
{
	char should[300];

	CHECK_NUMBER(known_function(1), 2);
	snprintf(should, sizeof(should), "known_function %s", module);
	check_name(known_function, false, false, should);
	check_name((char *)known_function + 1, false, true, should);
	check_name((char *)known_function + 1, true, false, should);
	snprintf(should, sizeof(should), "main %s", module);
	check_name(main, false, false, should);
}

/* The address after the last instruction belongs to the next function, unless it is a return address. */
static void takes_the_call_not_what_follows(void)
{
	char *name = name_of(known_function, true, false);

	CHECK(name && !strstr(name, "known_function"));
	free(name);
}

/* Python's stack holds pointers to functions, which were taken for calls at the end of those before them. */
static void takes_no_pointer_to_a_function_for_a_call(void)
{
	check_name(known_function, false, true, NULL);
}

static void gives_data_no_name(void)
{
	static int data;

	check_name(&data, false, false, NULL);
	check_name((void *)16, false, false, NULL);
	check_name((void *)-1, false, false, NULL);
}

static void names_the_c_library(void)
{
	/* dlsym(), because a sanitizer or the linker may put something else in front of puts. */
	void *library = dlopen("libc.so.6", RTLD_LAZY);
	char *name = name_of(dlsym(library, "puts"), false, false);

	dlclose(library);

	CHECK(name && strstr(name, "puts (libc.so"));
	free(name);
}

static void keeps_names_it_was_given(void)
{
	struct user_address asked[2] = {
		{ .pid = getpid(), .address = (uintptr_t)known_function, .name = (char *)"given" },
		{ .pid = getpid(), .address = (uintptr_t)known_function },
	};

	CHECK_NUMBER(user_symbols_resolve(asked, 2, DEADLINE_MS), 1);
	CHECK_TEXT(asked[0].name, "given");
	free(asked[1].name);
}

static void survives_a_dead_process(void)
{
	struct user_address asked[2] = { { .address = (uintptr_t)known_function }, { .pid = getpid() } };

	asked[0].pid = fork();
	if (!asked[0].pid)
		_exit(0);
	waitpid(asked[0].pid, NULL, 0);
	asked[1].address = (uintptr_t)known_function;
	CHECK_NUMBER(user_symbols_resolve(asked, 2, DEADLINE_MS), 1);
	CHECK_TEXT(asked[0].name, NULL);
	CHECK(asked[1].name && strstr(asked[1].name, "known_function"));
	free(asked[1].name);
}

/* Each refusal is seen against the same file being honoured. */
static void honours_its_own_perf_map_only(void)
{
	char *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64], other[80], hexadecimal[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	snprintf(other, sizeof(other), "%s.other", path);
	snprintf(hexadecimal, sizeof(hexadecimal), "0x%lx (anonymous)", (unsigned long)code);
	unlink(path);
	check_name(code, false, false, hexadecimal);
	check_name(code, false, true, NULL);

	map = fopen(path, "w");
	fprintf(map,
		"%lx 10 replaced\nnonsense\n\n%lx\n%lx 0 empty\n%lx 10 LFoo;::bar /x.js:1 \x1b[31m\n0x%lx 20 later",
		(unsigned long)code, (unsigned long)code, (unsigned long)code, (unsigned long)code,
		(unsigned long)code + 0x40);
	fclose(map);
	check_name(code, false, false, "LFoo;::bar /x.js:1 \x1b[31m (jit)");
	check_name(code + 0xf, false, true, "LFoo;::bar /x.js:1 \x1b[31m (jit)");
	check_name(code + 0x10, false, true, NULL);
	check_name(code + 0x40, false, false, "later (jit)");

	rename(path, other);
	CHECK_NUMBER(symlink(other, path), 0);
	check_name(code, false, false, hexadecimal);
	unlink(path);
	CHECK_NUMBER(mkfifo(path, 0600), 0);
	check_name(code, false, false, hexadecimal);
	unlink(path);
	rename(other, path);
	check_name(code, false, false, "LFoo;::bar /x.js:1 \x1b[31m (jit)");
	if (chown(path, 12345, 12345))
		printf("skipped: a perf map of somebody else (%s)\n", strerror(errno));
	else
		check_name(code, false, false, hexadecimal);
	if (!chown(path, getuid(), getgid())) {
		CHECK_NUMBER(truncate(path, 65 << 20), 0);
		check_name(code, false, false, hexadecimal);
	}
	unlink(path);
	munmap(code, 4096);
}

/* CPU time of this process and of its children that have ended: a busy host does not make it longer. */
static long used_ms(void)
{
	long sum = 0;

	for (int who = RUSAGE_CHILDREN; who <= RUSAGE_SELF; who++) {
		struct rusage used;

		getrusage(who, &used);
		sum += (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000;
		sum += (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
	}
	return sum;
}

static void names_many_in_time(void)
{
	enum { COUNT = 10000 };
	struct user_address *asked = calloc(COUNT, sizeof(*asked));
	long begin = used_ms(), used;
	int named;

	for (int i = 0; i < COUNT; i++)
		asked[i] = (struct user_address){ .pid = getpid(), .address = (uintptr_t)known_function - i };
	named = user_symbols_resolve(asked, COUNT, DEADLINE_MS);
	used = used_ms() - begin;
	printf("%d names in %ld ms of CPU time\n", named, used);
	CHECK(named > 100);
	CHECK(used < 500 * SLOWDOWN);
	for (int i = 0; i < COUNT; i++)
		free(asked[i].name);
	free(asked);
}

static void keeps_the_deadline(void)
{
	struct user_address asked = { .pid = getpid(), .address = (uintptr_t)known_function };
	int64_t begin = monotonic_ms(), took;

	hang = true;
	CHECK_NUMBER(user_symbols_resolve(&asked, 1, 200), 0);
	hang = false;
	took = monotonic_ms() - begin;
	CHECK(took >= 200 && took < PATIENCE_MS);
	CHECK_TEXT(asked.name, NULL);
	user_symbols_end();
	CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

/* The sanitizers need calls of their own: then there is no filter. */
static void a_forbidden_call_costs_the_names_and_is_told(void)
{
#ifndef __SANITIZE_ADDRESS__
	struct user_address asked = { .pid = getpid(), .address = (uintptr_t)known_function };

	overstep = true;
	CHECK_NUMBER(user_symbols_resolve(&asked, 1, DEADLINE_MS), 0);
	overstep = false;
	CHECK_TEXT(asked.name, NULL);
	CHECK_NUMBER(asked.lack, LACK_ENDED);
	names_own_functions();
#endif
}

static void reads_files_without_privileges(void)
{
	char *name;

#ifndef __SANITIZE_ADDRESS__
	printf("the other flavour of this test asks: here the filter forbids to\n");
	return;
#endif
	if (geteuid()) {
		printf("skipped: there are no privileges to give up\n");
		return;
	}
	tell_user = true;
	name = name_of(known_function, false, false);
	tell_user = false;
	CHECK(name && strstr(name, "known_function"));
	free(name);
}

int main(void)
{
	snprintf(module, sizeof(module), "(%s)", program_invocation_short_name);
	RUN(names_own_functions);
	RUN(takes_the_call_not_what_follows);
	RUN(takes_no_pointer_to_a_function_for_a_call);
	RUN(gives_data_no_name);
	RUN(names_the_c_library);
	RUN(keeps_names_it_was_given);
	RUN(survives_a_dead_process);
	RUN(honours_its_own_perf_map_only);
	RUN(names_many_in_time);
	RUN(keeps_the_deadline);
	RUN(a_forbidden_call_costs_the_names_and_is_told);
	RUN(reads_files_without_privileges);
	return check_result();
}
