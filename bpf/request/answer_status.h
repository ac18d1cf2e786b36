/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an answer in plain text says about itself: the status of HTTP/1, the first word of an error of Redis, and that Redis
 * or memcached has nothing under a key.
 *
 * Whoever answers may send anything.  So nothing of it is kept but the number of a status, or which word of the list it is.
 */
#pragma once
#include <stdbool.h>
#include "core/records/answers.h"

#define STATUS_BYTES 13 /* "HTTP/1.1 503 ", as much as is looked at */
#define STATUS_DIGITS 9 /* where they begin */

/* Others than statuses. */
#define STATUS_NONE 0	 /* it is no answer, or too little of one */
#define STATUS_INTERIM 1 /* the answer is still to come */
#define STATUS_FINE 2	 /* it is no error */
#define STATUS_MISS 3	 /* it is none, and what was looked up is not there */

#define LOWEST_ERROR 400

static inline bool is_digit_at_most(char digit, char most)
{
	return digit >= '0' && digit <= most;
}

static inline bool is_http_answer(const char *text)
{
	return text[0] == 'H' && text[1] == 'T' && text[2] == 'T' && text[3] == 'P' && text[4] == '/' &&
	       text[5] == '1' && text[6] == '.' && is_digit_at_most(text[7], '1') && text[8] == ' ';
}

/* Its number, if the text has that and its end. */
static inline __u32 http_status(const char *text)
{
	const char *digits = text + STATUS_DIGITS;
	__u32 status;

	if (!is_digit_at_most(digits[0], '5') || digits[0] == '0' || !is_digit_at_most(digits[1], '9') ||
	    !is_digit_at_most(digits[2], '9') || (digits[3] != ' ' && digits[3] != '\r' && digits[3] != '\n'))
		return STATUS_NONE;
	status = 100 * (digits[0] - '0') + 10 * (digits[1] - '0') + digits[2] - '0';
	if (status >= LOWEST_ERROR)
		return status;
	return status < 200 && status != 101 ? STATUS_INTERIM : STATUS_FINE; /* 101: another protocol follows */
}

/* Does an error of Redis begin with that word?  Of a long one its beginning does: no two are alike there. */
static inline bool has_word(const char *text, const char *word)
{
	for (__u32 i = 0; i < STATUS_BYTES - 2; i++) {
		if (!word[i])
			return text[1 + i] == ' ' || text[1 + i] == '\r';
		if (text[1 + i] != word[i])
			return false;
	}
	return true;
}

static inline __u32 redis_error(const char *text)
{
#define STATUS_IF_WORD(id)                                                                                             \
	if (has_word(text, #id))                                                                                       \
		return REDIS_##id;
	REDIS_ERRORS(STATUS_IF_WORD)
	return text[1] >= 'A' && text[1] <= 'Z' ? REDIS_OTHER : STATUS_NONE;
}

/* Data of Redis begin with one of these; an address, as in a vector, with none that is a multiple of 8, as those are. */
static inline bool is_redis_data(char type)
{
	return type == '+' || type == ':' || type == '$' || type == '*' || type == '_' || type == '%' || type == '#' ||
	       type == ',';
}

static inline bool begins_with(const char *text, const char *word)
{
	for (__u32 i = 0; i < STATUS_BYTES && word[i]; i++) {
		if (text[i] != word[i])
			return false;
	}
	return true;
}

/* Null of Redis: of a text, of an array, and of RESP3. */
static inline bool is_redis_null(const char *text)
{
	return begins_with(text, "$-1\r") || begins_with(text, "*-1\r") || begins_with(text, "_\r");
}

/* The end of no values of memcached, and that of its meta commands. */
static inline bool is_memcached_miss(const char *text)
{
	return begins_with(text, "END\r") || begins_with(text, "EN\r");
}

#define BINARY_ANSWER 0x81
#define BINARY_NOOP 0x0a
#define BINARY_NO_KEY 1

/* Of memcached's binary protocol: a quiet get that misses is not answered, and the NOOP behind it is answered first. */
static inline __u32 binary_status(const unsigned char *packet)
{
	__u32 status = packet[6] << 8 | packet[7];

	if (packet[1] == BINARY_NOOP || status == BINARY_NO_KEY)
		return STATUS_MISS;
	return status ? STATUS_NONE : STATUS_FINE;
}

/* The text has at least STATUS_BYTES bytes, the rest of them 0 where fewer have come. */
static inline __u32 status_of(const char *text)
{
	if (is_http_answer(text))
		return http_status(text);
	if (text[0] == '-')
		return redis_error(text);
	if ((unsigned char)text[0] == BINARY_ANSWER && !text[5])
		return binary_status((const unsigned char *)text);
	if (is_redis_null(text) || is_memcached_miss(text))
		return STATUS_MISS;
	return is_redis_data(text[0]) ? STATUS_FINE : STATUS_NONE;
}
