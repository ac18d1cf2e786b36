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

/* Why this host's kernel dropped a packet, as far as that tells what to do. */
enum drop_kind {
	DROP_NONE,
	DROP_FIREWALL, /* a rule of netfilter */
	DROP_FILTER,   /* a BPF program: of a socket, a control group, an interface */
	DROP_RECEIVE_BUFFER,
	DROP_QUEUE,   /* of an interface */
	DROP_BACKLOG, /* of a CPU */
	DROP_LINK_ADDRESS,
	DROP_REVERSE_PATH,
	DROP_ROUTE,
	DROP_CHECKSUM,
	DROP_TOO_BIG,
	DROP_KINDS,
};

/* Packets from a peer, or to it. */
struct drop_key {
	__u64 object; /* the peer */
	__u32 kind;   /* enum drop_kind */
	__u32 padding;
};
