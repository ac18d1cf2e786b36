// SPDX-License-Identifier: GPL-2.0-only
/* Limits by name: a name that is typed is made as that of a request, and stands once. */
/* SOURCES: program/statement_limits.c program/syscall_table.c output/json.c output/output.c */
#include <sys/syscall.h>
#include "../../../lib/recorder/program/objectives.c"
#include "check.h"

static struct options options;
static __u64 objects[2 * LIMITS], limits_ns[2 * LIMITS];
static size_t filled;

/* The only function of libbpf that is called here. */
int bpf_map__update_elem(const struct bpf_map *map, const void *key, size_t key_size, const void *value,
			 size_t value_size, __u64 flags)
{
	(void)map;
	(void)flags;
	CHECK_NUMBER(key_size + value_size, 16);
	if (filled == 2 * LIMITS)
		return -E2BIG;
	memcpy(&objects[filled], key, sizeof(*objects));
	memcpy(&limits_ns[filled++], value, sizeof(*limits_ns));
	return 0;
}

static void begin(void)
{
	memset(&options, 0, sizeof(options));
	filled = 0;
}

static void names_are_made_as_those_of_requests(void)
{
	static const char *const typed[][2] = {
		{ "GET /upload", "GET /upload" },
		{ "GET /users/#/orders", "GET /users/#/orders" },
		{ "GET /users/4711/orders?page=2", "GET /users/#/orders" },
		{ "GET /v1/a2c/v12", "GET /v1/#/#" },
		{ "GET /v1/v1beta1/v", "GET /v1/#/v" },
		{ "GET /a HTTP/1.1", "GET /a" },
		{ "GET /a/#", "GET /a/#" },
		{ "GET /a/", "GET /a/" },
		{ "GET #", "GET #" },
		{ "keys", "KEYS" },
		{ "JSON.GET", "JSON.GET" },
		/* 59 bytes: of "HTTP/" the last is not looked at */
		{ "GET /abcdefghijklmnopqrst/0123456789012345678901234567/last", "GET /abcdefghijklmnopqrst/#/#" },
		{ "PUT /abcdefghijklmnopqrstuvwxyz/abcdefghijklmnopqrstuvwxyz/abcdefghijklmnopqrstuvwxyz",
		  "PUT /abcdefghijklmnopqrstuvwxyz/#/#" },
	};

	for (size_t i = 0; i < sizeof(typed) / sizeof(*typed); i++) {
		char again[REQUEST_NAME_BYTES + 1];

		begin();
		CHECK_NUMBER(limits_add(&options, typed[i][0], i + 1), 0);
		CHECK_TEXT(options.limits[0].name, typed[i][1]);
		CHECK_NUMBER(options.limits[0].ns, (long)i + 1);
		make_name(typed[i][1], i, again); /* what a report shows can be typed */
		CHECK_TEXT(again, typed[i][1]);
	}
}

/* "": it is no statement, but a request, a command of Redis, or an error. */
static void statements_are_told_from_requests(void)
{
	static const char *const typed[][2] = {
		{ "SELECT a FROM t WHERE id = 7", "SELECT a FROM t WHERE id = ?" },
		{ "COMMIT", "COMMIT" },
		{ "commit; ", "commit" },
		{ "COMMIT ;", "COMMIT" },
		{ "COMMITS", "" },
		{ "DELETE /users/7", "" },
		{ "KEYS", "" },
		{ "", "" },
		{ ";", "" },
	};

	for (size_t i = 0; i < sizeof(typed) / sizeof(*typed); i++) {
		struct limit limit = {};

		CHECK_NUMBER(statement_limit_name(typed[i][0], &limit), *typed[i][1] != 0);
		CHECK_TEXT(limit.name, typed[i][1]);
	}
}

static void a_name_keeps_words_only(void)
{
	static const char *const typed[][2] = {
		{ "GET http://user:secret@host/path HTTP/1.1", "GET /path" },
		{ "GET http://user:secret@host HTTP/1.1", "GET /" },
		{ "GET https://host?secret", "GET /" },
		{ "GET //user:secret@host/path", "GET //#/path" },
		{ "GET /a;jsessionid=secret/b", "GET /a" },
		{ "GET /a#secret", "GET /a" },
		{ "GET /#secret", "GET /" },
		{ "GET /user@host/a=b/a%20b/a:b/a,b/~me/caf\xc3\xa9", "GET /#/#/#/#/#/#/#" },
		{ "GET /getUserById/API/chat.postMessage/a-b_c.d", "GET /getUserById/API/chat.postMessage/a-b_c.d" },
		{ "GET /aaaaaaaaaabbbbbbbbbB/a", "GET /aaaaaaaaaabbbbbbbbbB/a" }, /* 20 */
		{ "GET /aaaaaaaaaabbbbbbbbbBB/a", "GET /#/a" },
		{ "GET /aaaaaaaaaabbbbbbbbbbbbbB/a", "GET /#/a" },
		{ "GET /customer-portal-configurations/a", "GET /customer-portal-configurations/a" },
	};

	for (size_t i = 0; i < sizeof(typed) / sizeof(*typed); i++) {
		char name[REQUEST_NAME_BYTES + 1];

		make_name(typed[i][0], i, name);
		CHECK_TEXT(name, typed[i][1]);
	}
}

/* What has come in of a request, and its name: NULL, it has none yet. */
static void a_name_of_which_more_is_to_come_says_so(void)
{
	static const char *const come[][2] = {
		{ "GET /users/admin HTTP/1.1\r\n", "GET /users/admin" },
		{ "GET /users/admin HTTP/", "GET /users/admin" },
		{ "GET /users/admin ", "GET /users/ ..." },
		{ "GET /users/admin?", "GET /users/admin" },
		{ "GET /users/admin HTT", "GET /users/ ..." },
		{ "GET /users/12 HTTP", "GET /users/ ..." },
		{ "GET /secret ", "GET / ..." },
		{ "GET /users/admin\r\n", "GET #" },
		{ "GET /users/admin now\r\n", "GET #" },
		{ "GET secret\r\n", "GET #" },
		{ "GET secret/path/secret HTTP/1.1\r\n", "GET #" },
		{ "GET http:/secret/secret HTTP/1.1\r\n", "GET #" },
		{ "OPTIONS * HTTP/1.1\r\n", "OPTIONS #" },
		{ "GET /users/admin", "GET /users/ ..." },
		{ "GET /users/adm", "GET /users/ ..." },
		{ "GET /users/12", "GET /users/ ..." },
		{ "GET /users/12/", "GET /users/#/ ..." },
		{ "GET /", "GET / ..." },
		{ "GET ", " ..." },
		{ "GET", " ..." },
		{ "GET /abcdefghijklmnopqrstuvwxyz/abcdefghijklmnopqrst/a", " ..." },
		{ "GET http://user:secret@ho", " ..." },
		{ "GET http://user:secret@host/pa", "GET / ..." },
		{ "GET http://user:secret@a.host.of.a.name/that/goes.on/for.a.word", "GET /that/goes.on/ ..." },
		{ "GET http://user:secret@a.host.of.a.name/that/goes.on/for.a.words", "GET /that/goes.on/#" },
		{ "GET http://user:secret@a.host.of.a.name/that/goes.on/word HTTP/1", "GET /that/goes.on/word" },
		{ "GET http://user:secret@a.host.of.a.name/that/goes.on/a.word HTTP/1", "GET /that/goes.on/#" },
		{ "GET http://user:secret@a.host.of.a.name/that/goes.on/some.words and", "GET /that/goes.on/#" },
		{ "GET http://user:secret@a.host.of.a.name/that/goes.on/some.word and", "GET #" },
		{ "GET http://user:secret@a.host.of.a.name.of.more.than.is.looked.at", "GET #" },
		{ "GET /abcdefghijklmnopqrstuvwxyz/abcdefghijklmnopqrstuvwxyz",
		  "GET /abcdefghijklmnopqrstuvwxyz/ ..." },
		{ "GET /abcdefghijklmnopqrstuvwxyz/abcdefghijklmnopqrstuvwxyz/a/b/c/d",
		  "GET /abcdefghijklmnopqrstuvwxyz/#/a/b/#" },
		{ "GET /a/0123456789012345678901234567890123456789012345678901234567", "GET /a/#" },
	};

	for (size_t i = 0; i < sizeof(come) / sizeof(*come); i++) {
		struct naming naming = { .bytes = strlen(come[i][0]) };

		memcpy(naming.text, come[i][0], naming.bytes < REQUEST_BYTES ? naming.bytes : REQUEST_BYTES);
		if (begin_name(&naming, 7))
			for (__u32 at = 0; at < REQUEST_BYTES && !name_letter(at, &naming); at++)
				;
		end_name(&naming, 7);
		CHECK_NUMBER(naming.length, (long)strlen(come[i][1]));
		CHECK_NUMBER(memcmp(naming.name.request.text, come[i][1], naming.length), 0);
	}
}

/* What has come in of a request to Redis, and its name: NULL, it has none. */
static void a_command_keeps_its_word_only(void)
{
	static const char *const come[][2] = {
		{ "*2\r\n$4\r\nkeys\r\n$6\r\nsecret\r\n", "KEYS" },
		{ "*1\r\n$4\r\nPING", "PING" },
		{ "*2001\r\n$4\r\nMSET\r\n$6\r\nsecret\r\n", "MSET" },
		{ "*2\r\n$10\r\nft._a-list\r\n", "FT._A-LIST" },
		{ "*1\r\n$20\r\nabcdefghijklmnopqrst\r\n", "ABCDEFGHIJKLMNOPQRST" },
		{ "*1\r\n$21\r\nabcdefghijklmnopqrstu\r\n", NULL },
		{ "*1\r\n$4\r\nPIN", NULL }, /* the rest is to come */
		{ "*1\r\n$6\r\ns3cret\r\n", NULL },
		{ "*1\r\n$0\r\n\r\n", NULL },
		{ "*1\r\n$100\r\nabc\r\n", NULL },
		{ "*100000\r\n$4\r\nPING\r\n", NULL },
		{ "*\r\n$4\r\nPING\r\n", NULL },
		{ "*1\r\n$-1\r\n", NULL },
		{ "*1\r\n:4\r\nPING\r\n", NULL },
		{ "*1\n$4\nPING\n", NULL },
		{ "*", NULL },
	};

	for (size_t i = 0; i < sizeof(come) / sizeof(*come); i++) {
		struct naming naming = { .bytes = strlen(come[i][0]) };
		bool is_command;

		memcpy(naming.text, come[i][0], naming.bytes);
		is_command = find_command(&naming, naming.bytes);
		if (is_command) {
			drop_arguments(&naming);
			CHECK(!memmem(naming.text, sizeof(naming.text), "secret", 6));
			is_command = name_command(&naming, 7);
		}
		CHECK_NUMBER(is_command, !!come[i][1]);
		if (is_command)
			CHECK_TEXT((naming.name.request.text[naming.length] = 0, naming.name.request.text), come[i][1]);
	}
}

static void a_command_of_memcached_keeps_its_word_only(void)
{
	static const struct {
		const char *comes;
		size_t bytes;
		const char *name;
	} cases[] = {
		{ "get secret\r\n", 12, "GET" },
		{ "replace secret 0 0 1\r\n", 22, "REPLACE" },
		{ "mg secret v\r\n", 13, "MG" },
		{ "getter secret\r\n", 15, NULL },
		{ "mn\r\n", 4, NULL },
		{ "\x80\x00\0\6\0\0\0\0\0\0\0\6\0\0\0\0\0\0\0\0\0\0\0\0secret", 30, "GET" },
		{ "\x80\x0f\0\6\0\0\0\0\0\0\0\6\0\0\0\0\0\0\0\0\0\0\0\0secret", 30, "PREPEND" },
		{ "\x80\x00\0\6\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0\0\0\0\0\0secret", 30, NULL },
		{ "\x80\x00\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24, NULL },
		{ "\x80\x01\0\6\0\0\0\0\0\0\0\6\0\0\0\0\0\0\0\0\0\0\0\0secret", 30, NULL },
		{ "\x80\x00\0\6\0\0\0\1\0\0\0\6\0\0\0\0\0\0\0\0\0\0\0\0secret", 30, NULL },
		{ "\x80\x00\0\x3c\0\0\0\0\0\0\0\2", 12, NULL }, /* the last fragment of a remote procedure call */
		{ "\x80\x0a\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24, NULL },
		{ "\x80\x1e\0\6\0\0\0\0\0\0\0\6\0\0\0\0\0\0\0\0\0\0\0\0secret", 30, NULL },
		{ "\x80\x00\0\6\0\1\0\0\0\0\0\6\0\0\0\0\0\0\0\0\0\0\0\0secret", 30, NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct naming naming = { .bytes = cases[i].bytes };

		memcpy(naming.text, cases[i].comes, cases[i].bytes);
		CHECK_NUMBER(find_memcached(&naming), !!cases[i].name);
		if (!cases[i].name)
			continue;
		drop_arguments(&naming);
		CHECK(!memmem(naming.text, sizeof(naming.text), "secret", 6));
		CHECK(name_command(&naming, 7));
		CHECK_TEXT((naming.name.request.text[naming.length] = 0, naming.name.request.text), cases[i].name);
	}
}

/* What was found to collide in one recording does not in the next. */
static void a_seed_changes_what_collides(void)
{
	char path[] = "GET /aaa", name[REQUEST_NAME_BYTES + 1];
	__u32 low[2][26 * 26];
	long alike = 0, together[2] = {};

	for (int i = 0; i < 26 * 26; i++) {
		path[6] = 'a' + i / 26;
		path[7] = 'a' + i % 26;
		for (int seed = 0; seed < 2; seed++)
			low[seed][i] = make_name(path, 0x5eed + seed, name) % 256; /* many collide in so few bits */
	}
	for (int i = 0; i < 26 * 26; i++) {
		for (int j = 0; j < i; j++) {
			bool first = low[0][i] == low[0][j], second = low[1][i] == low[1][j];

			together[0] += first;
			together[1] += second;
			alike += first && second;
		}
	}
	CHECK(together[0] > 500 && together[1] > 500);
	CHECK(alike < 15); /* by chance three or four: 228,150 pairs, and 65,536 pairs of values */
}

static void what_cannot_be_meant_is_refused(void)
{
	begin();
	CHECK_NUMBER(limits_add(&options, "GET /users/1", 5), 0);
	CHECK_NUMBER(limits_add(&options, "GET /users/2?a=b", 6), -EDOM);
	CHECK_NUMBER(limits_add(&options, "", 5), -EDOM);
	CHECK_NUMBER(limits_add(&options, "?page=2", 5), -EDOM); /* nothing of it is a name */
	CHECK_NUMBER(limits_add(&options, "upload2", 5), -EDOM);
	CHECK_NUMBER(limits_add(&options, "GET ", 5), -EDOM);
	CHECK_NUMBER(limits_add(&options, "get /upload", 5), -EDOM);
	CHECK_NUMBER(limits_add(&options, "POSTAGE /upload", 5), -EDOM);
	CHECK_NUMBER(limits_add(&options, "CONNECT host:443", 5), -EDOM);
	CHECK_NUMBER(limits_add(&options, "GET upload", 5), -EDOM);
	CHECK_NUMBER(limits_add(&options, "GET /users/ ...", 5), -EDOM); /* of which more was to come: of any */
	CHECK_NUMBER(limits_add(&options, "GET /", 0), -EDOM);
	CHECK_NUMBER(limits_add(&options, "(other names)", 5), -EDOM); /* how those without room are told */
	CHECK_NUMBER(limits_add(&options, "syscall:", 5), -EDOM);
	CHECK_NUMBER(limits_add(&options, "syscall:reed", 5), -EDOM);
	CHECK_NUMBER(options.limit_count, 1);
	CHECK(!limits_of_calls(&options));
	CHECK_NUMBER(limits_add(&options, "syscall:read", 5), 0);
	CHECK_NUMBER(limits_add(&options, "syscall:read", 5), -EDOM);
	CHECK(limits_of_calls(&options));
}

static void there_is_room_for_so_many(void)
{
	char name[] = "GET /aa";

	begin();
	for (int i = 0; i < LIMITS; i++) {
		name[5] = 'a' + i / 26;
		name[6] = 'a' + i % 26;
		CHECK_NUMBER(limits_add(&options, name, 1), 0);
	}
	CHECK_NUMBER(limits_add(&options, "GET /more", 1), -EDOM);
	CHECK_NUMBER(options.limit_count, LIMITS);
}

static void calls_are_meant_in_both_tables(void)
{
	static __typeof__(*((struct perfdiag *)NULL)->bss) bss = { .knobs.seed = 0x123456789abcdef };
	static struct perfdiag skeleton = { .bss = &bss };
	static struct recorder recorder = { .skeleton = &skeleton };

	begin();
	CHECK_NUMBER(limits_add(&recorder.options, "syscall:read", 7), 0);
	CHECK_NUMBER(limits_add(&recorder.options, "GET /", 8), 0);
	CHECK_NUMBER(limits_fill(&recorder), 0);
	CHECK_NUMBER(objects[0], (long)OBJECT(OBJECT_SYSCALL, SYS_read));
	CHECK_NUMBER(limits_ns[0], 7);
#ifdef __x86_64__
	CHECK_NUMBER(filled, 3);
	CHECK_NUMBER(objects[1], (long)OBJECT(OBJECT_SYSCALL, 3 | OBJECT_SYSCALL_I386));
	CHECK_NUMBER(limits_ns[1], 7);
#endif
	CHECK_NUMBER(OBJECT_KIND(objects[filled - 1]), OBJECT_REQUEST);
	CHECK_NUMBER(OBJECT_ID(objects[filled - 1]),
		     (long)make_name("GET /", bss.knobs.seed, recorder.options.limits[1].name));
	CHECK_NUMBER(limits_ns[filled - 1], 8);
	recorder.options.no_request_names = true;
	CHECK_NUMBER(limits_fill(&recorder), -EDOM); /* none would have that name */
}

int main(void)
{
	RUN(names_are_made_as_those_of_requests);
	RUN(statements_are_told_from_requests);
	RUN(a_name_keeps_words_only);
	RUN(a_name_of_which_more_is_to_come_says_so);
	RUN(a_command_keeps_its_word_only);
	RUN(a_command_of_memcached_keeps_its_word_only);
	RUN(a_seed_changes_what_collides);
	RUN(what_cannot_be_meant_is_refused);
	RUN(there_is_room_for_so_many);
	RUN(calls_are_meant_in_both_tables);
	return check_result();
}
