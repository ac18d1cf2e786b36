/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a request of Redis's protocol (RESP) is called: its command alone, "KEYS" of "*2\r\n$4\r\nKEYS\r\n$6\r\nuser:*\r\n".
 * Likewise of memcached's protocols: "GET" of "get user:7\r\n".  The same for the programs and for a name that somebody
 * types.  Of several that were read at once it is the first.
 *
 * A client may send anything as a command.  So only letters, '-', '_' and '.' are kept, and no more than COMMAND_BYTES.
 */
#pragma once
#include "request/name_rules.h"

#define COMMAND_BYTES WORD_BYTES
#define ARGUMENT_DIGITS 5 /* of the number of arguments */
#define LENGTH_DIGITS 2	  /* of the command's length */

/* Behind a number and the end of its line; 0: there is none. */
static inline __u32 behind_number(const char *text, __u32 at, __u32 digits)
{
	__u32 end = at;

	for (__u32 i = 0; i < digits && text[end] >= '0' && text[end] <= '9'; i++)
		end++;
	return end > at && text[end] == '\r' && text[end + 1] == '\n' ? end + 2 : 0;
}

/*
 * Does the text begin with a whole command?  Its first letter is where `method` says then, and `bytes` end behind it: what
 * follows are its arguments.
 */
static inline bool find_command(struct naming *naming, __u32 bytes)
{
	const char *text = naming->text;
	__u32 begin, length, at = *text == '*' ? behind_number(text, 1, ARGUMENT_DIGITS) : 0;

	if (!at || text[at] != '$')
		return false;
	begin = behind_number(text, at + 1, LENGTH_DIGITS);
	if (!begin)
		return false;
	length = text[at + 1] - '0';
	if (begin == at + 1 + LENGTH_DIGITS + 2)
		length = 10 * length + text[at + 2] - '0';
	if (!length || length > COMMAND_BYTES || begin + length > bytes)
		return false;
	naming->method = begin;
	naming->bytes = begin + length;
	return true;
}

/*
 * https://docs.memcached.org/protocols/binary/: magic, opcode, length of key (2), of extras, type of data, bucket (2), length
 * of all that follows the header (4)
 */
#define BINARY_REQUEST 0x80
#define BINARY_KEY_BYTES 250

/* The bytes of the command of memcached that a text begins with; 0: it begins with none. */
static inline __u32 memcached_bytes(__u64 word)
{
	if (is_method(word, "get ", 4) || is_method(word, "gat ", 4) || is_method(word, "set ", 4) ||
	    is_method(word, "add ", 4) || is_method(word, "cas ", 4))
		return 3;
	if (is_method(word, "mg ", 3) || is_method(word, "ms ", 3) || is_method(word, "md ", 3) ||
	    is_method(word, "ma ", 3))
		return 2;
	if (is_method(word, "gets ", 5) || is_method(word, "gats ", 5) || is_method(word, "incr ", 5) ||
	    is_method(word, "decr ", 5))
		return 4;
	if (is_method(word, "touch ", 6))
		return 5;
	if (is_method(word, "delete ", 7) || is_method(word, "append ", 7))
		return 6;
	return is_method(word, "prepend ", 8) || is_method(word, "replace ", 8) ? 7 : 0;
}

static inline __u32 binary_length(const unsigned char *bytes)
{
	return (__u32)bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

/*
 * The command of a packet of memcached's binary protocol, as its text protocol has it, with a blank; 0: there is none.  All
 * lengths have to fit: other protocols begin with that byte, too, and so may an address, as in a vector.
 */
static inline __u64 binary_command(const unsigned char *packet)
{
	static const struct {
		char word[METHOD_BYTES] __attribute__((aligned(8)));
		__u8 extras;
	} commands[] = { [0x00] = { "get ", 0 },     [0x01] = { "set ", 8 },	[0x02] = { "add ", 8 },
			 [0x03] = { "replace ", 8 }, [0x04] = { "delete ", 0 }, [0x05] = { "incr ", 20 },
			 [0x06] = { "decr ", 20 },   [0x09] = { "get ", 0 },	[0x0c] = { "get ", 0 },
			 [0x0d] = { "get ", 0 },     [0x0e] = { "append ", 0 }, [0x0f] = { "prepend ", 0 },
			 [0x1c] = { "touch ", 4 },   [0x1d] = { "gat ", 4 } };
	__u32 opcode = packet[1], key = packet[2] << 8 | packet[3], extras = packet[4];

	if (packet[0] != BINARY_REQUEST || opcode >= sizeof(commands) / sizeof(*commands) || !key ||
	    key > BINARY_KEY_BYTES || packet[5] || packet[6] || packet[7])
		return 0;
	if (extras != commands[opcode].extras || binary_length(packet + 8) < key + extras)
		return 0;
	return *(const __u64 *)commands[opcode].word;
}

/* The same for memcached. */
static inline bool find_memcached(struct naming *naming)
{
	__u64 binary = binary_command((const unsigned char *)naming->text);
	__u32 bytes = memcached_bytes(binary ?: *(const __u64 *)naming->text);

	if (!bytes)
		return false;
	if (binary)
		*(__u64 *)naming->text = binary;
	naming->method = 0;
	naming->bytes = bytes;
	return true;
}

/* Takes the arguments out of the text, which is what tells names apart that were made lately. */
static inline void drop_arguments(struct naming *naming)
{
	__u64 *words = (__u64 *)naming->text;
	__u32 before = 0;

	for (__u32 i = 0; i < REQUEST_BYTES / sizeof(*words); i++, before += sizeof(*words))
		words[i] = naming->bytes > before ? first_bytes(words[i], naming->bytes - before) : 0;
}

/* Returns whether it looks like a command. */
static inline bool name_command(struct naming *naming, __u64 seed)
{
	char letter;

	naming->hash = seed;
	naming->length = 0;
	for (__u32 i = naming->method; i < naming->bytes && i < REQUEST_BYTES; i++) {
		letter = naming->text[i];
		if (letter >= 'a' && letter <= 'z')
			letter -= 'a' - 'A';
		else if (!((letter >= 'A' && letter <= 'Z') || letter == '-' || letter == '_' || letter == '.'))
			return false;
		add_letter(naming, letter);
	}
	return true;
}
