// SPDX-License-Identifier: GPL-2.0-only
/* Sleeps that followed a call that had failed, an answer that was an error, or a child that had (failed_tries.bpf.h). */
#define _GNU_SOURCE
#include <bpf/libbpf.h>
#include <ctype.h>
#include <netinet/in.h>
#include <string.h>
#include "program/map_walk.h"
#include "recorder.h"
#include "perfdiag.skel.h"
#include "wait/syscall_class.h"

/*
 * The last component, as of other files: what stands before it can be long, and say more than anybody needs.  Programs also
 * look whether a URL is a file, with a host or "data:": of that nothing is kept, nor of a name with a password before a
 * host, nor what may be a query, as of sources of mounts.
 */
static bool may_be_url(const char *path, size_t length)
{
	const char *colon = memchr(path, ':', length), *letter = path;

	if (!colon)
		return false;
	while (letter < colon && isalpha((unsigned char)*letter))
		letter++;
	return letter == colon || memmem(path, length, ":/", 2) || memchr(colon, '@', path + length - colon);
}

static void write_base_name(struct json *json, const char *path)
{
	size_t length = strnlen(path, ARGUMENT_BYTES), begin;

	if (length >= ARGUMENT_BYTES - 1)
		return; /* it may be cut: its end is not known */
	if (may_be_url(path, length))
		return;
	length = strcspn(path, "?#;%=");
	while (length && path[length - 1] == '/')
		length--;
	for (begin = length; begin && path[begin - 1] != '/'; begin--)
		;
	json_bytes(json, "file", path + begin, length - begin < FILE_NAME_BYTES ? length - begin : FILE_NAME_BYTES);
}

static void write_address(struct json *json, const char *argument)
{
	struct sockaddr_in6 six;
	struct sockaddr_in four;

	memcpy(&six, argument, sizeof(six));
	memcpy(&four, argument, sizeof(four));
	if (four.sin_family == AF_INET)
		peer_write(json, "object", AF_INET, &four.sin_addr, ntohs(four.sin_port));
	else if (six.sin6_family == AF_INET6)
		peer_write(json, "object", AF_INET6, &six.sin6_addr, ntohs(six.sin6_port));
}

static void write_failed_call(struct recorder *recorder, const struct failed_call_key *key,
			      const struct failed_call_sum *sum)
{
	const struct failure *what = &key->what;
	struct json *json = &recorder->json;

	json_open(json, "failed_call");
	json_bytes(json, "comm", key->comm, strnlen(key->comm, COMM_BYTES));
	json_u64(json, "pid", sum->tgid);
	if (what->ended) {
		json_bytes(json, "command", what->command, strnlen(what->command, COMM_BYTES));
		json_u64(json, "exit_code", what->ended);
	}
	if (OBJECT_KIND(what->call) == OBJECT_REQUEST) {
		request_name_write(recorder, "request", (__u32)OBJECT_ID(what->call));
		status_write(json, "status", what->error);
	} else if (what->call) {
		object_write(recorder, "call", what->call);
		json_u64(json, "error", what->error);
	}
	if (sum->longest.object)
		object_write(recorder, "object", sum->longest.object);
	else if (sum->longest.kind == ARGUMENT_PATH)
		write_base_name(json, sum->longest.argument);
	else if (sum->longest.kind == ARGUMENT_ADDRESS)
		write_address(json, sum->longest.argument);
	json_u64(json, "sleeps", sum->sleeps);
	json_u64(json, "sum_ns", sum->ns);
	json_u64(json, "max_ns", sum->max_ns);
	json_write(json, &recorder->output);
}

void failed_calls_write(struct recorder *recorder)
{
	struct map_walk walk = { .fd = bpf_map__fd(recorder->skeleton->maps.failed_calls) };
	struct failed_call_key key;
	struct failed_call_sum sum;

	while (map_next(&walk, &key, &sum))
		write_failed_call(recorder, &key, &sum);
}
