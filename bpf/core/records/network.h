/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of records.h about connections; included there. */
#pragma once

/* A TCP socket the target waited on, as last seen; keyed by its object. */
struct socket_sum {
	__u32 local_address;
	__u16 local_port, family;
	__u32 rtt_us, minimum_rtt_us, congestion_window, in_flight;
	__u32 send_window_bytes, receive_window_bytes;
	__u32 retransmits, retransmits_seen;
	__u32 waits_congestion, waits_receiver, waits_buffer;
	__u32 waits_unasked; /* to receive, without anything written on the same connection since the wait before */
	__u32 write_sequence;
	__u32 duplicates; /* segments that the peer has said to have twice, before the first of `retransmits_seen` */
	__u32 duplicates_seen, padding;
	__u64 sock; /* to tell connections to one peer apart */
};
