// SPDX-License-Identifier: GPL-2.0-only
/* SOURCES: window/header.c output/json.c output/output.c */
/* WRAPS: fopen clock_gettime */
/* The footer: what the recording cost, and what of it the kernel does not tell. */
#include "program/cost.c"
#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include "check.h"

#define PROGRAMS 2

static char program[PROGRAMS]; /* their addresses stand for them */
static bool statm_hidden;
static int queries, failing_query; /* counted from 1; 0: none fails */

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);

FILE *__wrap_fopen(const char *path, const char *mode)
{
	return statm_hidden && strstr(path, "statm") ? NULL : __real_fopen(path, mode);
}

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

/* Statistics are on for as long as the window below: what they say is not scaled. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	static long calls;

	if (clock != CLOCK_MONOTONIC)
		return __real_clock_gettime(clock, now);
	*now = (struct timespec){ .tv_nsec = ++calls * 1000 };
	return 0;
}

/* What header.c and cost.c ask of the rest, and of libbpf. */

size_t probes_count(void)
{
	return PROGRAMS;
}

bool probe_is_iterator(const struct probe_state *state)
{
	return !state->program;
}

uint64_t knobs_tick_ns(void)
{
	return 4000000;
}

void budget_write(struct recorder *recorder)
{
	(void)recorder;
}

void limits_write(struct json *json, const struct options *options)
{
	(void)json;
	(void)options;
}

void probes_write(struct recorder *recorder)
{
	json_array(&recorder->json, "probes");
	json_end(&recorder->json);
}

void privileges_write(struct json *json)
{
	(void)json;
}

int bpf_program__fd(const struct bpf_program *which)
{
	return (const char *)which - program;
}

int bpf_map__fd(const struct bpf_map *map)
{
	return map ? 0 : -1;
}

int bpf_enable_stats(enum bpf_stats_type type)
{
	return type == BPF_STATS_RUN_TIME ? dup(STDOUT_FILENO) : -1;
}

int libbpf_num_possible_cpus(void)
{
	return 1;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	*(__u64 *)value = 0;
	return key ? 0 : fd;
}

/* Program 0 makes 7 runs between two queries, program 1 makes 14. */
int bpf_obj_get_info_by_fd(int fd, void *result, __u32 *size)
{
	static __u64 runs[PROGRAMS];
	struct bpf_prog_info *info = result;

	runs[fd] += 7 * (fd + 1);
	if (++queries == failing_query) {
		memset(info, 0xff, *size); /* what stands there then is no answer */
		return -EMFILE;
	}
	memset(info, 0, *size);
	info->id = fd + 1;
	info->run_cnt = runs[fd];
	info->run_time_ns = 100 * runs[fd];
	return 0;
}

/* The line that footer_write() writes after one pair of measurements. */
static const char *footer(void)
{
	static char line[1 << 14];
	static struct recorder recorder;
	struct perfdiag skeleton = {};
	struct bpf_link *attached = (struct bpf_link *)program;
	struct probe_state states[PROGRAMS] = {
		{ .probe = &(struct probe){ .name = "first", .feature = "ledger" },
		  .link = attached,
		  .program = (struct bpf_program *)&program[0] },
		{ .probe = &(struct probe){ .name = "second", .feature = "ledger" },
		  .link = attached,
		  .program = (struct bpf_program *)&program[1] },
	};
	int fd = memfd_create("recording", 0), copy = dup(fd);
	ssize_t length;

	recorder = (struct recorder){ .start_ns = 0, .end_ns = 1000, .skeleton = &skeleton, .probes = states };
	queries = 0;
	statistics_ns = statistics_begin_ns = 0;
	cost_begin();
	cost_next(&recorder);
	cost_next(&recorder);
	output_add(&recorder.output, fd, "recording");
	footer_write(&recorder);
	output_close(&recorder.output);
	json_free(&recorder.json);
	length = pread(copy, line, sizeof(line) - 1, 0);
	line[length > 0 ? length : 0] = '\0';
	close(copy);
	return line;
}

static bool says(const char *line, const char *text)
{
	return strstr(line, text);
}

#define FIRST "{\"name\":\"first\",\"runs\":7,\"ns\":700}"
#define SECOND "{\"name\":\"second\",\"runs\":14,\"ns\":1400}"

static void test_all_is_told(void)
{
	const char *line = footer();

	CHECK(says(line, "\"programs\":[" FIRST "," SECOND "]"));
	CHECK(says(line, "\"resident_bytes\":"));
	CHECK(!says(line, "\"resident_bytes\":0"));
}

/* Unknown is never zero, nor what a program ran since it was loaded. */
static void test_a_program_that_could_not_be_asked_has_no_cost(void)
{
	static const char *const programs[] = {
		"\"programs\":[{\"name\":\"first\"}," SECOND "]",
		"\"programs\":[" FIRST ",{\"name\":\"second\"}]",
	};

	for (failing_query = 1; failing_query <= 2 * PROGRAMS; failing_query++)
		CHECK(says(footer(), programs[(failing_query - 1) % PROGRAMS]));
	failing_query = 0;
}

static void test_memory_that_cannot_be_read_is_not_none(void)
{
	const char *line;

	statm_hidden = true;
	line = footer();
	statm_hidden = false;
	CHECK(says(line, "\"cost\":{"));
	CHECK(!says(line, "resident_bytes"));
}

int main(void)
{
	RUN(test_all_is_told);
	RUN(test_a_program_that_could_not_be_asked_has_no_cost);
	RUN(test_memory_that_cannot_be_read_is_not_none);
	return check_result();
}
