// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loading the BPF programs, each on its own terms: a hook this kernel lacks, or a program its verifier refuses, costs
 * the feature it stands for; only the ledger itself must be there.
 */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/privileges.h"
#include "program/probes.h"
#include "perfdiag.skel.h"
#include "program/side_by_side.h"
#include "program/syscall_table.h"

#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"

static char failed_program[64]; /* the last one libbpf complained about */
static bool verbose;

static int on_message(enum libbpf_print_level level, const char *format, va_list arguments)
{
	char line[512];
	const char *quote;
	va_list copy;

	if (level == LIBBPF_DEBUG)
		return 0;
	va_copy(copy, arguments);
	vsnprintf(line, sizeof(line), format, copy);
	va_end(copy);
	quote = strstr(line, "prog '");
	if (quote && strstr(line, "failed to load"))
		sscanf(quote, "prog '%63[^']", failed_program);
	return verbose ? vfprintf(stderr, format, arguments) : 0;
}

/* Which types modules have, the kernel tells with this privilege only. */
static bool sees_modules(void)
{
	return privileges_has(CAPABILITY(SYS_ADMIN));
}

/* Built in, it may have a folder there, too, but its types are the kernel's. */
static bool is_loaded(const char *module, const char *folder)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/%s", folder, module);
	return !access(path, F_OK);
}

/* A tracepoint that programs can be attached to has a typedef for its arguments among the kernel's types. */
static bool has_hook(const struct btf *kernel, const struct probe_state *state, char *reason, size_t size)
{
	const char *section = bpf_program__section_name(state->program), *function;
	char name[96];

	if (state->probe->module && !is_loaded(state->probe->module, "/sys/module")) {
		snprintf(reason, size, "the module %s is not loaded", state->probe->module);
		return false;
	}
	if (state->probe->module && is_loaded(state->probe->module, "/sys/kernel/btf")) {
		if (sees_modules())
			return true;
		snprintf(reason, size, "the types of module %s are shown with CAP_SYS_ADMIN only",
			 state->probe->module);
		return false;
	}
	function = strncmp(section, "fexit/", 6) && strncmp(section, "fentry/", 7) ? NULL : strchr(section, '/') + 1;
	if (kernel && function && btf__find_by_name_kind(kernel, function, BTF_KIND_FUNC) < 0) {
		snprintf(reason, size, "this kernel has no function %s", function);
		return false;
	}
	if (!kernel || strncmp(section, "tp_btf/", 7))
		return true;
	snprintf(name, sizeof(name), "btf_trace_%s", section + 7);
	if (btf__find_by_name_kind(kernel, name, BTF_KIND_TYPEDEF) > 0)
		return true;
	snprintf(reason, size, "this kernel has no tracepoint %s", section + 7);
	return false;
}

static void fill_syscall_tables(struct perfdiag__rodata *rodata)
{
	for (unsigned int number = 0; number < SYSCALL_TABLE_SIZE; number++) {
		rodata->syscall_classes[number] = syscall_class_native(number);
		rodata->syscall_classes_i386[number] = syscall_class_i386(number);
		rodata->call_arguments[number] = syscall_argument(number);
	}
}

/* A thread of its own, as /proc/kallsyms takes as long to read as libbpf needs to prepare the programs. */
static struct {
	pthread_t thread;
	bool runs;
	int err;
} symbol_reader;

static void *load_symbols(void *argument)
{
	struct recorder *recorder = argument;

	symbol_reader.err = kernel_symbols_load(&recorder->symbols);
	if (!symbol_reader.err)
		recorder->marker_count = markers_fill(recorder->symbols, recorder->markers);
	return NULL;
}

static void begin_symbols(struct recorder *recorder)
{
	symbol_reader.runs = !pthread_create(&symbol_reader.thread, NULL, load_symbols, recorder);
	if (!symbol_reader.runs)
		load_symbols(recorder);
}

static void finish_symbols(void)
{
	if (symbol_reader.runs)
		pthread_join(symbol_reader.thread, NULL);
	symbol_reader.runs = false;
}

/* kernel: its types, to ask for hooks; NULL on the first try, which hopes that all are there (10 ms saved). */
static int open_skeleton(struct recorder *recorder, const struct btf *kernel)
{
	LIBBPF_OPTS(bpf_object_open_opts, options);

	/* Named by its path, libbpf looks into the kernel alone; else it fails at the modules. */
	if (!sees_modules())
		options.btf_custom_path = KERNEL_TYPES;
	recorder->skeleton = perfdiag__open_opts(&options);
	if (!recorder->skeleton)
		return -errno;
	fill_syscall_tables(recorder->skeleton->rodata);
	recorder->skeleton->rodata->has_rdonly_cast =
		!kernel || btf__find_by_name_kind(kernel, "bpf_rdonly_cast", BTF_KIND_FUNC) > 0;
	for (size_t i = 0; i < probes_count(); i++) {
		struct probe_state *state = &recorder->probes[i];

		state->program = bpf_object__find_program_by_name(recorder->skeleton->obj, state->probe->name);
		if (!state->program) {
			snprintf(state->reason, sizeof(state->reason), "not built into this recorder");
			continue;
		}
		state->wanted = !state->reason[0] && has_hook(kernel, state, state->reason, sizeof(state->reason));
		bpf_program__set_autoload(state->program, state->wanted && probe_may_be_needed(recorder, state));
	}
	return 0;
}

/* Takes the program that failed out of the next try; false if it is needed or not known. */
static bool give_up_on(struct recorder *recorder, const char *name, int err)
{
	for (size_t i = 0; i < probes_count(); i++) {
		struct probe_state *state = &recorder->probes[i];

		if (strcmp(state->probe->name, name) || state->probe->required || state->reason[0])
			continue;
		snprintf(state->reason, sizeof(state->reason), "the kernel refused it: %s", strerror(-err));
		state->refused = true;
		return true;
	}
	return false;
}

/* The verifier, too, refuses a program with EACCES: then libbpf has named it. */
static bool is_not_permitted(int err)
{
	return err == -EPERM || (err == -EACCES && !failed_program[0]);
}

/* With its log asked for, libbpf loads each itself, and prints what the verifier says. */
static int load_skeleton(struct recorder *recorder)
{
	const char *failed = NULL;
	int err;

	if (!verbose)
		side_by_side_begin(recorder->skeleton->obj);
	err = perfdiag__load(recorder->skeleton);
	finish_symbols(); /* before there are programs of ours, which would be taken for another tracer's */
	err = err ?: side_by_side_load(&failed);
	if (failed)
		snprintf(failed_program, sizeof(failed_program), "%s", failed);
	side_by_side_end();
	return err;
}

static int load_programs(struct recorder *recorder)
{
	struct btf *kernel = NULL;
	int err;

	for (;;) {
		failed_program[0] = 0;
		err = open_skeleton(recorder, kernel);
		if (err)
			break;
		err = load_skeleton(recorder);
		if (!err)
			break;
		perfdiag__destroy(recorder->skeleton);
		recorder->skeleton = NULL;
		if (is_not_permitted(err))
			break;
		if (kernel && !give_up_on(recorder, failed_program, err))
			break;
		if (!kernel) {
			kernel = btf__load_vmlinux_btf();
			if (!kernel) {
				err = errno == ENOMEM ? -ENOMEM : -ENOTSUP;
				break;
			}
		}
	}
	btf__free(kernel);
	return err == -EACCES && !is_not_permitted(err) ? -ENOTSUP : err;
}

/* CAP_SYS_ADMIN stands for both. */
static const char *missing_capabilities(void)
{
	bool administers = privileges_has(CAPABILITY(SYS_ADMIN));
	bool has_bpf = administers || privileges_has(CAPABILITY(BPF));
	bool has_perfmon = administers || privileges_has(CAPABILITY(PERFMON));

	if (has_bpf)
		return has_perfmon ? "" : " without CAP_PERFMON";
	return has_perfmon ? " without CAP_BPF" : " without CAP_BPF and CAP_PERFMON";
}

static int explain_failure(struct recorder *recorder, int err)
{
	struct lack *lack = &recorder->lack;

	if ((is_not_permitted(err) || err == -ENOMEM) && privileges_are_of_namespace())
		return lack_of(lack, -EPERM, "run it on the host, outside the container",
			       "BPF programs need root of the host: here root is one of a user namespace only");
	if (is_not_permitted(err))
		return lack_of(lack, err, "run it as root, or with CAP_BPF and CAP_PERFMON",
			       "the kernel refuses BPF programs%s: %s", missing_capabilities(), strerror(-err));
	if (err == -ENOMEM || err == -EMFILE || err == -ENFILE)
		return lack_of(lack, err, "raise the limits of memory and open files: ulimit -a",
			       "the ledger cannot be loaded: %s", strerror(-err));
	if (access("/sys/kernel", R_OK)) /* no engine traces without it either */
		return lack_of(lack, err, "mount -t sysfs none /sys, or give the container its host's /sys",
			       "/sys is not mounted here: the kernel describes its types there");
	recorder->declined = true;
	if (access(KERNEL_TYPES, R_OK))
		return lack_of(
			lack, err,
			"perfdiag needs a kernel built with CONFIG_DEBUG_INFO_BTF; a script sees less: --engine auto",
			"this kernel does not describe its types (no " KERNEL_TYPES ")");
	return lack_of(lack, err, "perfdiag needs Linux 6.1 or later; a script sees less: --engine auto",
		       "the ledger cannot be loaded (%s): %s", failed_program[0] ? failed_program : "BPF object",
		       strerror(-err));
}

int probes_load(struct recorder *recorder)
{
	int err;

	verbose = secure_getenv("PERFDIAG_DEBUG") != NULL;
	libbpf_set_print(on_message);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	recorder->probes = probes_create();
	if (!recorder->probes)
		return -ENOMEM;
	begin_symbols(recorder);
	err = load_programs(recorder);
	finish_symbols();
	if (err)
		return explain_failure(recorder, err);
	err = symbol_reader.err ? 0 : program_symbols_add(recorder);
	if (symbol_reader.err)
		fprintf(stderr, "warning: no kernel symbols (%s): waits are told apart by system call alone\n",
			strerror(-symbol_reader.err));
	if (err)
		fprintf(stderr,
			"warning: perfdiag's own programs have no names (%s): their time counts as the kernel's\n",
			strerror(-err));
	return 0;
}
