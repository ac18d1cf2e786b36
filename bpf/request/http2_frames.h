/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The frames of HTTP/2 (RFC 9113, 4.1 and 6), as a server reads them: 3 bytes of length, type, flags, 4 bytes of stream.  A
 * connection that is older than the window has shown its preface to nobody here.
 */
#pragma once
#include <stdbool.h>

#define FRAME_HEADER_BYTES 9
#define FRAME_MOST_BYTES 16384 /* more only where the server has asked for it */

enum frame_type {
	FRAME_DATA,
	FRAME_HEADERS,
	FRAME_PRIORITY,
	FRAME_RST_STREAM,
	FRAME_SETTINGS,
	FRAME_PUSH_PROMISE, /* servers alone send it */
	FRAME_PING,
	FRAME_GOAWAY,
	FRAME_WINDOW_UPDATE,
	FRAME_CONTINUATION,
};

enum frame_flags {
	FLAG_END_STREAM = 0x1, /* of DATA and HEADERS; ACK of SETTINGS and PING */
	FLAG_ACK = 0x1,
	FLAG_END_HEADERS = 0x4,
	FLAG_PADDED = 0x8,
	FLAG_PRIORITY = 0x20,
};

static inline __u32 frame_bytes(const unsigned char *header)
{
	return header[0] << 16 | header[1] << 8 | header[2];
}

/* Clients open the streams with odd numbers. */
static inline bool is_clients_stream(__u32 stream)
{
	return stream & 1;
}

/* Can these bytes be the header of a frame that a client sends? */
static inline bool is_frame_header(const unsigned char *header)
{
	__u32 bytes = frame_bytes(header), flags = header[4];
	__u32 stream = (__u32)header[5] << 24 | header[6] << 16 | header[7] << 8 | header[8];

	if (bytes > FRAME_MOST_BYTES || stream >> 31)
		return false;
	switch (header[3]) {
	case FRAME_DATA: return is_clients_stream(stream) && !(flags & ~(FLAG_END_STREAM | FLAG_PADDED));
	case FRAME_HEADERS:
		return bytes && is_clients_stream(stream) &&
		       !(flags & ~(FLAG_END_STREAM | FLAG_END_HEADERS | FLAG_PADDED | FLAG_PRIORITY));
	case FRAME_PRIORITY: return bytes == 5 && stream && !flags;
	case FRAME_RST_STREAM: return bytes == 4 && stream && !flags;
	case FRAME_SETTINGS: return !stream && (flags == FLAG_ACK ? !bytes : !flags && bytes % 6 == 0);
	case FRAME_PING: return bytes == 8 && !stream && !(flags & ~FLAG_ACK);
	case FRAME_GOAWAY: return bytes >= 8 && !stream && !flags;
	case FRAME_WINDOW_UPDATE: return bytes == 4 && !flags;
	case FRAME_CONTINUATION: return is_clients_stream(stream) && !(flags & ~FLAG_END_HEADERS);
	}
	return false;
}
