/* SPDX-License-Identifier: GPL-2.0-only */
/* The plain text in which a request shows its name, and whether there is any. */
#pragma once
#include "core/compat.bpf.h"
#include "core/object_names.bpf.h"
#include "request/command_name.h"
#include "request/http2_frames.h"

#define HTTP2_PREFACE 0x20495250 /* "PRI ", as a number of this byte order: frames follow */
#define HTTP_ANSWER 0x50545448	 /* "HTTP" */

/* The names that were made last, by what they were made of. */
struct recent_name {
	__u64 text; /* its hash */
	__u32 name, padding;
};

#define RECENT_NAMES 512
#define REQUEST_NAMES 384 /* without a limit of their own: each takes one of `exchanges` on every port */
#define CALL_NAMES 256	  /* of what the target asks for: these take none from its requests */

static __u32 names_made[2]; /* of these, and of those */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, RECENT_NAMES);
	__type(key, __u32);
	__type(value, struct recent_name);
} recent_names SEC(".maps");

/* Records of TLS begin with their type and version 3.x, 1 at the first. */
#define TLS_HEADER 4 /* and one byte of the length */
#define TLS_CHANGE_CIPHER 0x0314
#define TLS_HANDSHAKE 0x0316
#define TLS_DATA 0x0317
/*
 * RFC 8446, 5.2: the last message of a client's handshake looks like data.  It is the hash of all before (SHA-256 or
 * SHA-384), 4 bytes, the type, and 16 bytes of authentication.
 */
#define TLS_FINISHED_SHA256 53
#define TLS_FINISHED_SHA384 69
#define TLS_ALERT 19 /* 2 bytes, the type, authentication: the connection is closed */

static __always_inline __u32 tls_type(const char *text)
{
	__u32 type = *(const __u16 *)text;

	return type == TLS_CHANGE_CIPHER || type == TLS_HANDSHAKE || type == TLS_DATA ? type : 0;
}

static __always_inline __u32 tls_length(const char *text)
{
	return (__u8)text[3] << 8 | (__u8)text[4];
}

/* Does a record that looks like data end the handshake (`shakes`: it is under way), or the connection? */
static __always_inline bool is_tls_own(const char *text, bool shakes)
{
	__u32 length = tls_length(text);

	return length == TLS_ALERT || (shakes && (length == TLS_FINISHED_SHA256 || length == TLS_FINISHED_SHA384));
}

static __always_inline bool is_known(const char *text)
{
	if (tls_type(text))
		return true;
	switch (*(const __u32 *)text) {
	case 0x20544547: /* "GET " */
	case 0x54534f50: /* "POST" */
	case 0x20545550: /* "PUT " */
	case 0x44414548: /* "HEAD" */
	case 0x454c4544: /* "DELE" */
	case 0x43544150: /* "PATC" */
	case 0x4954504f: /* "OPTI" */
	case HTTP_ANSWER:
	case HTTP2_PREFACE: return true;
	}
	return false;
}

/*
 * Do the bytes at an address begin with a frame of HTTP/2?  One ends where they end, or another one follows, or its header
 * was read alone: any number of protocols begin with a length.  Global, so that the verifier walks it once.
 */
__weak __noinline int shows_frames(struct naming *naming, __u64 address, __u32 bytes)
{
	unsigned char next[FRAME_HEADER_BYTES];
	const unsigned char *first;
	__u32 end;

	if (!naming)
		return 0;
	first = (const unsigned char *)naming->text;
	if (bytes < FRAME_HEADER_BYTES || !is_frame_header(first))
		return 0;
	end = FRAME_HEADER_BYTES + frame_bytes(first);
	if (bytes == FRAME_HEADER_BYTES || bytes == end)
		return 1;
	return bytes >= end + FRAME_HEADER_BYTES && !bpf_probe_read_user(next, sizeof(next), (void *)(address + end)) &&
	       is_frame_header(next);
}

/* Global, so that the verifier walks it once. */
__weak __noinline int begins_with_command(struct naming *naming, __u32 bytes)
{
	return naming &&
	       (find_command(naming, bytes < REQUEST_BYTES ? bytes : REQUEST_BYTES) || find_memcached(naming));
}

/* No more than the buffer has: what lies behind it in the target's memory was not sent by anybody. */
__weak __noinline int read_text(struct naming *naming, __u64 address, __u64 room)
{
	__u32 bytes;

	if (!naming)
		return false;
	bytes = naming->bytes < room ? naming->bytes : room;
	if (!bpf_probe_read_user(naming->text, at_most(bytes, REQUEST_BYTES), (void *)address) && bytes > TLS_HEADER) {
		naming->command = begins_with_command(naming, bytes);
		if (naming->command)
			return true;
		if (naming->perhaps_frames)
			naming->frames = shows_frames(naming, address, bytes);
		if (naming->frames || is_known(naming->text)) {
			naming->bytes = bytes;
			return true;
		}
	}
	__builtin_memset(naming->text, 0, sizeof(naming->text)); /* for another try */
	return false;
}

/* Where the bytes that the current call has read or sent may lie; what is there tells which place it is. */
struct text_place {
	__u64 address, room;
	__u64 vectors; /* of the message, if its argument is one */
};

#define TEXT_PLACES 3 /* where its second argument points to, in a vector there, in that of a message there */

static __always_inline void go_to_place(struct text_place *place, __u32 index, const struct call *call, __u32 bytes)
{
	struct user_message message = {};
	struct user_vector vector = {};

	if (index == 0) {
		*place = (struct text_place){ call->arguments[1], bytes };
	} else if (index == 1) {
		bpf_probe_read_user(&message, sizeof(message), (void *)call->arguments[1]);
		*place = (struct text_place){ message.name, message.name_length, message.vectors }; /* as a vector */
	} else {
		bpf_probe_read_user(&vector, sizeof(vector), (void *)place->vectors);
		place->address = vector.base;
		place->room = vector.length;
	}
}

static __always_inline bool find_text(struct naming *naming, const struct call *call)
{
	struct text_place place;

	if (call->number < 0 || call->i386)
		return false;
	for (__u32 i = 0; i < TEXT_PLACES; i++) {
		go_to_place(&place, i, call, naming->bytes);
		if (read_text(naming, place.address, place.room))
			return true;
	}
	return false;
}

static long next_letter(__u32 index, struct naming **naming)
{
	return name_letter(index, *naming);
}

/*
 * The hash of the name, which is kept; NAME_OTHERS where there is no room for it: somebody who tries one path after the
 * other takes none from names with a limit, from peers and from files.  Global, so that the verifier walks it once, for
 * whatever text: of one that it has seen being made empty it would follow what each letter can be.
 */
__weak __noinline __u32 make_name(struct naming *naming)
{
	struct object_name *name;
	__u64 object;
	bool limited;
	__u32 *made;

	if (!naming)
		return 0;
	if (naming->command) {
		if (!name_command(naming, knobs.seed))
			return 0;
		naming->whole = true;
	} else if (begin_name(naming, knobs.seed))
		bpf_loop(REQUEST_BYTES, next_letter, &naming, 0); /* takes nothing but what is on the stack */
	else if (naming->bytes >= METHOD_BYTES)
		return 0; /* "POSTAGE": only begins like one */
	end_name(naming, knobs.seed);
	naming->name.request.length = naming->length;
	object = OBJECT(OBJECT_REQUEST, name_of(naming));
	if (bpf_map_lookup_elem(&names, &object))
		return name_of(naming);
	limited = has_own_limit(object);
	made = naming->call ? &names_made[1] : &names_made[0];
	if (!limited && *made >= (naming->call ? CALL_NAMES : REQUEST_NAMES))
		return NAME_OTHERS;
	name = new_name(object);
	if (!name)
		return name_of(naming);
	__builtin_memcpy(name, &naming->name, sizeof(*name));
	if (!limited)
		__sync_fetch_and_add(made, 1);
	return name_of(naming);
}

/* The same, but who asks for what somebody has asked for lately costs a fourth. */
static __always_inline __u32 name_request(struct naming *naming)
{
	const __u64 *words = (const __u64 *)naming->text;
	__u32 bytes;
	struct recent_name *recent;
	__u64 text;
	__u32 slot;

	if (knobs.no_names)
		return NAME_ALL;
	if (naming->command)
		drop_arguments(naming);
	bytes = naming->bytes < REQUEST_BYTES ? naming->bytes : REQUEST_BYTES;
	text = mix(knobs.seed, naming->call ? ~bytes : bytes); /* nobody can send what is taken for another's */
	for (int i = 0; i < REQUEST_BYTES / 8; i++)
		text = mix(text, words[i]);
	slot = text % RECENT_NAMES;
	recent = bpf_map_lookup_elem(&recent_names, &slot);
	if (!recent)
		return make_name(naming);
	if (recent->text != text) {
		recent->name = make_name(naming);
		recent->text = text;
	}
	return recent->name;
}
