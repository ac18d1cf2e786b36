/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a request of Redis's protocol (RESP) is called: its command alone, "KEYS" of "*2\r\n$4\r\nKEYS\r\n$6\r\nuser:*\r\n".  The
 * same for the programs and for a name that somebody types.  Of several that were read at once it is the first.
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
