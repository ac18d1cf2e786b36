// SPDX-License-Identifier: GPL-2.0-only
/* What an answer says about itself, and that nothing else of it is kept. */
#include <linux/types.h>
#include <string.h>
#include "check.h"
#include "request/answer_status.h"

static __u32 of(const char *answer)
{
	char text[STATUS_BYTES] = {};
	size_t length = strlen(answer);

	memcpy(text, answer, length < sizeof(text) ? length : sizeof(text));
	return status_of(text);
}

/* Of memcached's binary protocol. */
static __u32 of_packet(char opcode, char status)
{
	const char text[STATUS_BYTES] = { (char)BINARY_ANSWER, opcode, [7] = status };

	return status_of(text);
}

static void test_statuses_of_http(void)
{
	CHECK(of("HTTP/1.1 429 Too Many Requests\r\n") == 429);
	CHECK(of("HTTP/1.0 503 \r\n") == 503);
	CHECK(of("HTTP/1.1 500\r\n") == 500);
	CHECK(of("HTTP/1.1 599 x") == 599);
	CHECK(of("HTTP/1.1 200 OK\r\n") == STATUS_FINE);
	CHECK(of("HTTP/1.1 304 Not Modified\r\n") == STATUS_FINE);
	CHECK(of("HTTP/1.1 101 Switching Protocols\r\n") == STATUS_FINE);
	CHECK(of("HTTP/1.1 100 Continue\r\n") == STATUS_INTERIM);
	CHECK(of("HTTP/1.1 103 Early Hints\r\n") == STATUS_INTERIM);
}

static void test_what_is_no_status(void)
{
	CHECK(of("") == STATUS_NONE);
	CHECK(of("H") == STATUS_NONE);
	CHECK(of("HTTP/1.1 503") == STATUS_NONE); /* where it ends is not seen */
	CHECK(of("HTTP/1.1 5033 ") == STATUS_NONE);
	CHECK(of("HTTP/1.1 600 x") == STATUS_NONE);
	CHECK(of("HTTP/1.1 099 x") == STATUS_NONE);
	CHECK(of("HTTP/1.1 4a9 x") == STATUS_NONE);
	CHECK(of("HTTP/1.1  429 ") == STATUS_NONE);
	CHECK(of("HTTP/2.0 429 x") == STATUS_NONE);
	CHECK(of("HTTP/1.2 429 x") == STATUS_NONE);
	CHECK(of("HTTP/1.1\t429 x") == STATUS_NONE);
	CHECK(of("http/1.1 429 x") == STATUS_NONE);
	CHECK(of("GET /429 HTTP/1.1") == STATUS_NONE);
	CHECK(of("\x17\x03\x03\x04\x29 429 429") == STATUS_NONE);
}

static void test_errors_of_redis(void)
{
	CHECK(of("-ERR unknown command 'secret'\r\n") == REDIS_ERR);
	CHECK(of("-LOADING Redis is loading the dataset in memory\r\n") == REDIS_LOADING);
	CHECK(of("-BUSY Redis is busy\r\n") == REDIS_BUSY);
	CHECK(of("-BUSYGROUP x\r\n") == REDIS_OTHER);
	CHECK(of("-CLUSTERDOWN Hash slot not served\r\n") == REDIS_CLUSTERDOWN);
	CHECK(of("-MASTERDOWN Link\r\n") == REDIS_MASTERDOWN);
	CHECK(of("-OOM\r\n") == REDIS_OOM);
	CHECK(of("-OO") == REDIS_OTHER);
	CHECK(of("-SECRETWORDOFTHEIRS x\r\n") == REDIS_OTHER);
	CHECK(of("+OK\r\n") == STATUS_FINE);
	CHECK(of("*2\r\n$1\r\n") == STATUS_FINE);
}

static void test_what_is_not_there(void)
{
	CHECK(of("$-1\r\n") == STATUS_MISS);
	CHECK(of("*-1\r\n") == STATUS_MISS);
	CHECK(of("_\r\n") == STATUS_MISS);
	CHECK(of("$-10\r\n") == STATUS_FINE);
	CHECK(of("END\r\n") == STATUS_MISS);
	CHECK(of("EN\r\n") == STATUS_MISS);
	CHECK(of("ENDED\r\n") == STATUS_NONE);
	CHECK(of("VALUE key 0 1\r\n") == STATUS_NONE);
	CHECK(of_packet(0, 1) == STATUS_MISS);
	CHECK(of_packet(BINARY_NOOP, 0) == STATUS_MISS); /* behind keys that were asked for quietly */
	CHECK(of_packet(0, 0) == STATUS_FINE);
	CHECK(of_packet(0, 0x85) == STATUS_NONE); /* busy */
}

static void test_what_is_no_answer_of_redis(void)
{
	CHECK(of("-") == STATUS_NONE);
	CHECK(of("- x") == STATUS_NONE);
	CHECK(of("--BOUNDARY") == STATUS_NONE);
	CHECK(of("-1\r\n") == STATUS_NONE);
	CHECK(of("!21\r\nSYNTAX") == STATUS_NONE);
}

int main(void)
{
	RUN(test_statuses_of_http);
	RUN(test_what_is_no_status);
	RUN(test_errors_of_redis);
	RUN(test_what_is_not_there);
	RUN(test_what_is_no_answer_of_redis);
	return check_result();
}
