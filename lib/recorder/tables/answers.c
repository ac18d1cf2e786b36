// SPDX-License-Identifier: GPL-2.0-only
/* Answers that are errors, by what was asked (bpf/request/answer_status.bpf.h). */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "program/map_walk.h"
#include "recorder.h"
#include "tables/request_sample.h"
#include "perfdiag.skel.h"

/* Five digits of base 36. */
static void sqlstate_write(struct json *json, const char *key, unsigned int state)
{
	char text[SQLSTATE_DIGITS + 1] = {};

	for (int i = SQLSTATE_DIGITS - 1; i >= 0; i--, state /= SQLSTATE_BASE)
		text[i] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[state % SQLSTATE_BASE];
	json_text(json, key, text);
}

void status_write(struct json *json, const char *key, unsigned int status)
{
#define STATUS_WORD(id) [REDIS_##id - FIRST_REDIS_ERROR] = #id,
	static const char *const words[] = { "OTHER", REDIS_ERRORS(STATUS_WORD) };

	if (status >= FIRST_REDIS_ERROR && status < REDIS_ERROR_END)
		return json_text(json, key, words[status - FIRST_REDIS_ERROR]);
	if (status >= FIRST_SQLSTATE && status < SQLSTATE_END)
		return sqlstate_write(json, key, status - FIRST_SQLSTATE);
	json_format(json, key, "%u", status >= FIRST_MYSQL_ERROR ? status - FIRST_MYSQL_ERROR : status);
}

void answers_write(struct recorder *recorder)
{
	struct map_walk walk = { .fd = bpf_map__fd(recorder->skeleton->maps.answers) };
	struct json *json = &recorder->json;
	struct answer_key key;
	struct answer_sum sum;

	while (map_next(&walk, &key, &sum)) {
		request_sample_scale(SAMPLED_ANSWERS, &key, &sum);
		json_open(json, "answer");
		object_write(recorder, "object", key.object);
		request_name_write(recorder, "name", key.name);
		json_text(json, "direction", direction_name(key.direction));
		status_write(json, "status", key.status);
		json_u64(json, "count", sum.count);
		if (sum.squares)
			json_u64(json, "count_error", request_sample_error(sum.squares));
		json_u64(json, "sum_ns", sum.ns);
		json_write(json, &recorder->output);
	}
}
