// SPDX-License-Identifier: GPL-2.0-only
/* Frames of HTTP/2 are told by their header, and what other protocols begin with is none. */
#include <linux/types.h>
#include "check.h"
#include "request/http2_frames.h"

#define IS_FRAME(...) is_frame_header((const unsigned char[FRAME_HEADER_BYTES + 8]){ __VA_ARGS__ })

static void test_frames_of_clients(void)
{
	CHECK(IS_FRAME(0, 0, 8, FRAME_HEADERS, FLAG_END_HEADERS | FLAG_END_STREAM, 0, 0, 0, 1));
	CHECK(IS_FRAME(0, 0x40, 0, FRAME_DATA, 0, 0x7f, 0xff, 0xff, 0xff));
	CHECK(IS_FRAME(0, 0, 5, FRAME_PRIORITY, 0, 0, 0, 0, 3));
	CHECK(IS_FRAME(0, 0, 4, FRAME_RST_STREAM, 0, 0, 0, 0, 3));
	CHECK(IS_FRAME(0, 0, 18, FRAME_SETTINGS, 0, 0, 0, 0, 0));
	CHECK(IS_FRAME(0, 0, 0, FRAME_SETTINGS, FLAG_ACK, 0, 0, 0, 0));
	CHECK(IS_FRAME(0, 0, 8, FRAME_PING, FLAG_ACK, 0, 0, 0, 0));
	CHECK(IS_FRAME(0, 0, 8, FRAME_GOAWAY, 0, 0, 0, 0, 0));
	CHECK(IS_FRAME(0, 0, 4, FRAME_WINDOW_UPDATE, 0, 0, 0, 0, 0));
	CHECK(IS_FRAME(0, 1, 0, FRAME_CONTINUATION, FLAG_END_HEADERS, 0, 0, 0, 1));
}

static void test_no_frames_of_clients(void)
{
	CHECK(!IS_FRAME(0, 0, 8, FRAME_HEADERS, 5, 0, 0, 0, 2)); /* the server's stream */
	CHECK(!IS_FRAME(0, 0, 0, FRAME_HEADERS, 5, 0, 0, 0, 1));
	CHECK(!IS_FRAME(0, 0x40, 1, FRAME_DATA, 0, 0, 0, 0, 1)); /* too long */
	CHECK(!IS_FRAME(0, 0, 8, FRAME_HEADERS, 5, 0x80, 0, 0, 1));
	CHECK(!IS_FRAME(0, 0, 8, FRAME_PUSH_PROMISE, 4, 0, 0, 0, 1));
	CHECK(!IS_FRAME(0, 0, 7, FRAME_SETTINGS, 0, 0, 0, 0, 0));
	CHECK(!IS_FRAME(0, 0, 6, FRAME_SETTINGS, FLAG_ACK, 0, 0, 0, 0));
	CHECK(!IS_FRAME(0, 0, 8, 10, 0, 0, 0, 0, 1));
}

static void test_other_protocols(void)
{
	CHECK(!IS_FRAME(9, 0, 0, 0, 3, 'S', 'E', 'L', 'E'));		   /* a query of MySQL */
	CHECK(!IS_FRAME(0, 1, 0, 0, 3, 'S', 'E', 'L', 'E'));		   /* one of 256 bytes */
	CHECK(!IS_FRAME('Q', 0, 0, 0, 13, 'S', 'E', 'L', 'E'));		   /* PostgreSQL */
	CHECK(!IS_FRAME(0, 0, 0, 0x11, 0x80, 1, 0, 1, 0));		   /* Thrift */
	CHECK(!IS_FRAME(0, 0, 1, 4, 0x80, 1, 0, 1, 0));			   /* Thrift */
	CHECK(!IS_FRAME(0, 0, 1, 1, 0, 18, 0, 3, 0));			   /* Kafka */
	CHECK(!IS_FRAME(0, 29, 0x12, 1, 1, 0, 0, 1, 0));		   /* DNS over TCP */
	CHECK(!IS_FRAME(0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc));		   /* TLS */
	CHECK(!IS_FRAME(0x80, 1, 0, 3, 0, 0, 0, 0, 0));			   /* memcached, binary */
	CHECK(!IS_FRAME('*', '1', '\r', '\n', '$', '4', '\r', '\n', 'P')); /* Redis */
	CHECK(!IS_FRAME(0x10, 0x23, 0, 4, 'M', 'Q', 'T', 'T', 4));	   /* MQTT */
	CHECK(!IS_FRAME(1, 0, 1, 0, 0, 0, 5, 0, 10));			   /* AMQP */
}

int main(void)
{
	RUN(test_frames_of_clients);
	RUN(test_no_frames_of_clients);
	RUN(test_other_protocols);
	return check_result();
}
