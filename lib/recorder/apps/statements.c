// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include "apps/statements.h"
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "apps/sessions.h"
#include "base/cleanup.h"
#include "program/map_walk.h"
#include "program/probes.h"
#include "perfdiag.skel.h"

#define LINKS_MAX (2 * PROGRAMS_MAX)

static struct bpf_link *links[LINKS_MAX];
static size_t link_count;

/* By the descriptor: the file at the path can be another one, or none that is seen from here. */
static int attach(struct recorder *recorder, struct bpf_program *program, int fd, uint64_t offset)
{
	bool at_return = !strcmp(bpf_program__section_name(program), "uretprobe");
	struct probe_state *state = probe_state_of(recorder, program);
	char path[64];

	if (link_count == LINKS_MAX || bpf_program__fd(program) < 0 || !state)
		return -ENOENT;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	links[link_count] = bpf_program__attach_uprobe(program, at_return, -1, path, offset);
	if (!links[link_count])
		return -errno;
	state->attached_by_app = true;
	link_count++;
	return 0;
}

static void detach_from(size_t count)
{
	while (link_count > count)
		bpf_link__destroy(links[--link_count]);
}

void statements_detach(void)
{
	detach_from(0);
}

/* The end first: a beginning without one would never be over. */
static int attach_all(struct recorder *recorder, enum sql_server server, int fd, const uint64_t *offsets)
{
	struct bpf_program *first, *second;
	size_t before = link_count;
	int err;

	if (server == SQL_POSTGRESQL) {
		first = recorder->skeleton->progs.postgres_run;
		second = recorder->skeleton->progs.postgres_activity;
		err = attach(recorder, first, fd, offsets[1]) ?: attach(recorder, second, fd, offsets[0]);
	} else {
		first = recorder->skeleton->progs.mariadb_end;
		second = server == SQL_MYSQL ? recorder->skeleton->progs.mysql_begin
					     : recorder->skeleton->progs.mariadb_begin;
		err = attach(recorder, first, fd, offsets[0]) ?: attach(recorder, second, fd, offsets[0]);
	}
	if (err)
		detach_from(before);
	return err;
}

const char *statements_attach(struct recorder *recorder, enum sql_server server, int fd,
			      const uint64_t offsets[FUNCTIONS_MAX])
{
	int err;

	if (!offsets[0] || (server == SQL_POSTGRESQL && !offsets[1]))
		return "no probe can be set where statements begin: its program exports no such function, or none begins there";
	err = attach_all(recorder, server, fd, offsets);
	if (err == -EACCES || err == -EPERM)
		return "it was met after the recording had begun: probes in programs are set before that";
	if (err)
		return "the kernel refused the probes in its program";
	return NULL;
}

const char *statement_kind_name(unsigned int kind)
{
	static const char *const names[] = { "run", "not_run", "prepared", "other", "unread", "no_room", "together" };

	return kind < sizeof(names) / sizeof(*names) ? names[kind] : "unread";
}

/*
 * What ran when a statement began was taken for running alone until it was booked: where an interrupt or the hypervisor
 * had a share in it, that is less than nothing in one account, and too much in another.
 */
static void settle(__s64 accounts_ns[ACCOUNT_COUNT])
{
	int most = 0;

	for (int i = 1; i < ACCOUNT_COUNT; i++)
		if (accounts_ns[i] > accounts_ns[most])
			most = i;
	for (int i = 0; i < ACCOUNT_COUNT; i++) {
		if (accounts_ns[i] >= 0 || i == most)
			continue;
		accounts_ns[most] += accounts_ns[i];
		accounts_ns[i] = 0;
	}
}

static void write_accounts(struct json *json, const char *key, const __s64 *sums_ns)
{
	__s64 accounts_ns[ACCOUNT_COUNT];

	memcpy(accounts_ns, sums_ns, sizeof(accounts_ns));
	settle(accounts_ns);
	json_array(json, key);
	for (int i = 0; i < ACCOUNT_COUNT; i++) {
		if (accounts_ns[i] <= 0)
			continue;
		json_array(json, NULL);
		json_text(json, NULL, account_names[i]);
		json_u64(json, NULL, accounts_ns[i]);
		json_end(json);
	}
	json_end(json);
}

static void write_sums(struct json *json, const struct statement_sum *sum)
{
	const struct statement_part_sum *slow = &sum->sums[1];
	__s64 accounts_ns[ACCOUNT_COUNT];

	for (int i = 0; i < ACCOUNT_COUNT; i++)
		accounts_ns[i] = sum->sums[0].accounts_ns[i] + slow->accounts_ns[i];
	json_u64(json, "count", sum->sums[0].count + slow->count);
	json_u64(json, "sum_ns", sum->sums[0].ns + slow->ns);
	write_accounts(json, "accounts", accounts_ns);
	json_u64(json, "over_slo", slow->count);
	json_u64(json, "over_slo_ns", slow->ns);
	write_accounts(json, "over_slo_accounts", slow->accounts_ns);
}

static void write_longest(struct json *json, const struct statement_sum *sum)
{
	json_u64(json, "max_ns", sum->max_ns);
	json_u64(json, "max_begun_ns", sum->max_at);
	json_u64(json, "max_pid", sum->max_tgid);
	json_u64(json, "max_tid", sum->max_tid);
	write_accounts(json, "max_accounts", sum->max_accounts_ns);
}

const char *sql_server_name(unsigned int server)
{
	return server == SQL_MARIADB ? "mariadb" : server == SQL_MYSQL ? "mysql" : "postgresql";
}

void digest_write(struct json *json, const struct kept_digest *digest)
{
	json_bytes(json, "name", digest->text, digest->length < DIGEST_BYTES ? digest->length : DIGEST_BYTES);
	json_bool(json, "cut", digest->cut || digest->length > DIGEST_BYTES);
}

void statements_write(struct recorder *recorder)
{
	struct map_walk walk = { .fd = bpf_map__fd(recorder->skeleton->maps.statements) };
	struct json *json = &recorder->json;
	struct statement_key key;
	struct statement_sum sum;

	while (map_next(&walk, &key, &sum)) {
		if (!sum.max_ns)
			continue;
		json_open(json, "statement");
		json_text(json, "server", sql_server_name(key.server));
		json_text(json, "kind", statement_kind_name(key.kind));
		digest_write(json, &sum.digest);
		write_sums(json, &sum);
		write_longest(json, &sum);
		counts_write(json, "buckets", sum.latency.buckets, LATENCY_BUCKETS);
		json_write(json, &recorder->output);
	}
}
