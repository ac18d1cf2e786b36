/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * attach - attaches all programs of an object until SIGTERM, and says "attached" when it has: attach OBJECT
 *          [statistics].  With statistics it then says of each its name, how often it ran, and how many ns the kernel
 *          read for that.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int print_costs(struct bpf_object *object)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object) {
		struct bpf_prog_info info = {};
		__u32 size = sizeof(info);

		if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
			return -1;
		printf("%s %llu %llu\n", bpf_program__name(program), (unsigned long long)info.run_cnt,
		       (unsigned long long)info.run_time_ns);
	}
	return 0;
}

static int attach(struct bpf_object *object)
{
	struct bpf_program *program;

	if (!object || bpf_object__load(object))
		return -1;
	bpf_object__for_each_program(program, object)
		if (!bpf_program__attach(program))
			return -1;
	return 0;
}

int main(int argc, char **argv)
{
	bool statistics = argc == 3 && !strcmp(argv[2], "statistics");
	struct bpf_object *object;
	sigset_t end;
	int number;

	if (argc != 2 && !statistics) {
		fputs("attach OBJECT [statistics]\n", stderr);
		return 2;
	}
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigprocmask(SIG_BLOCK, &end, NULL);
	object = bpf_object__open_file(argv[1], NULL);
	if (attach(object) || (statistics && bpf_enable_stats(BPF_STATS_RUN_TIME) < 0))
		return 1; /* libbpf has said why */
	puts("attached");
	fflush(stdout);
	sigwait(&end, &number);
	return statistics && print_costs(object);
}
