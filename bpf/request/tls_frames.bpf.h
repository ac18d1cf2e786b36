/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * HTTP/2 inside of TLS.  Which protocol the two ends have agreed on is encrypted, but not what the client has offered (RFC
 * 8446, 4.1.2; RFC 7301), nor how long records are: it acknowledges the server's settings with a frame of nothing but its
 * header, and no request of HTTP/1 is that short.
 */
#pragma once
#include "request/exchange.bpf.h"
#include "request/http2_frames.h"
#include "request/request_name.bpf.h"

#define HELLO_CLIENT 1		 /* the type of that message */
#define HELLO_SESSION 38	 /* where the length of the session's identifier stands in it */
#define HELLO_EXTENSIONS_MOST 32 /* browsers send 18 of them */
#define EXTENSION_PROTOCOLS 16
#define PROTOCOLS_BYTES 16 /* of the list that are looked at */

#define RECORDS_OF_READ 6 /* that are looked at */
#define SETTINGS_LOOKS 24 /* the acknowledgement comes by then: reads with which a client begins */
/* The frame, its type, and 16 bytes of authentication; in TLS 1.2 no type, but 8 bytes of a number (RFC 5288). */
#define TLS_13_SETTINGS_ACK (FRAME_HEADER_BYTES + 1 + 16)
#define TLS_12_SETTINGS_ACK (FRAME_HEADER_BYTES + 8 + 16)

static __always_inline __u32 read_big_endian(__u64 address, __u32 bytes)
{
	__u8 text[2] = {};

	if (bpf_probe_read_user(text, bytes, (void *)address))
		return 0;
	return bytes == 1 ? text[0] : text[0] << 8 | text[1];
}

/*
 * Is "h2" among the protocols, each of which has its length before it?  Global, as what follows, so that the verifier walks
 * it once.
 */
__weak __noinline int names_http2(__u64 address, __u64 end)
{
	__u8 list[PROTOCOLS_BYTES] = {};

	bpf_probe_read_user(list, sizeof(list), (void *)address);
	for (int i = 0; i + 2 < PROTOCOLS_BYTES && address + i + 2 < end; i++) {
		if (list[i] == 2 && list[i + 1] == 'h' && list[i + 2] == '2')
			return 1;
	}
	return 0;
}

/* Does the message at an address say that the client speaks HTTP/2? */
__weak __noinline int offers_http2(__u64 address, __u64 end)
{
	if (read_big_endian(address, 1) != HELLO_CLIENT)
		return 0;
	address += HELLO_SESSION;
	address += 1 + read_big_endian(address, 1);
	address += 2 + read_big_endian(address, 2); /* ciphers */
	address += 1 + read_big_endian(address, 1); /* compressions */
	address += 2;
	for (int i = 0; i < HELLO_EXTENSIONS_MOST && address + 6 < end; i++) {
		if (read_big_endian(address, 2) == EXTENSION_PROTOCOLS)
			return names_http2(address + 6, end);
		address += 4 + read_big_endian(address + 2, 2);
	}
	return 0;
}

/* So many bytes of a handshake were read, with or without the header of their record. */
__weak __noinline int note_offer(struct connection *connection, __u32 bytes)
{
	struct call call;
	__u64 address, end;

	if (!connection || connection->tls != TLS_SHAKES)
		return 0;
	read_call(bpf_get_current_task_btf(), &call);
	if (call.number < 0 || call.i386)
		return 0;
	address = call.arguments[1];
	end = address + bytes;
	if (offers_http2(address, end) || offers_http2(address + TLS_HEADER + 1, end))
		connection->settings_looks = SETTINGS_LOOKS;
	return 0;
}

/* What is among the records that were read at once. */
#define RECORDS_ASK 1	      /* data that may be a request */
#define RECORDS_ACKNOWLEDGE 2 /* a record as long as that acknowledgement */

/* Global, so that the verifier walks it once. */
__weak __noinline int look_at_records(struct connection *connection, __u32 bytes)
{
	char text[TLS_HEADER + 1];
	struct call call;
	__u32 length, at = 0;
	int found = 0;

	if (!connection)
		return 0;
	read_call(bpf_get_current_task_btf(), &call);
	if (call.number < 0 || call.i386)
		return 0;
	for (int i = 0; i < RECORDS_OF_READ && at + sizeof(text) <= bytes; i++) {
		if (bpf_probe_read_user(text, sizeof(text), (void *)(call.arguments[1] + at)) || !tls_type(text))
			break;
		length = tls_length(text);
		if (tls_type(text) == TLS_DATA) {
			bool own = is_tls_own(text, connection->tls == TLS_SHAKES);

			connection->tls_13 |= own;
			found |= own ? 0 : RECORDS_ASK;
			if (length == (connection->tls_13 ? TLS_13_SETTINGS_ACK : TLS_12_SETTINGS_ACK))
				found |= RECORDS_ACKNOWLEDGE;
		}
		at += sizeof(text) + length;
	}
	return found;
}
