// SPDX-License-Identifier: GPL-2.0-only
/* TCP sockets that the target waited on, and packets of its peers that this host dropped. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "program/map_walk.h"
#include "recorder.h"
#include "perfdiag.skel.h"

/* Segments that were sent again, without those that the peer has said to have twice: these were not lost. */
static uint32_t lost_of(const struct socket_sum *sum)
{
	return sum->duplicates_seen < sum->retransmits_seen ? sum->retransmits_seen - sum->duplicates_seen : 0;
}

void sockets_write(struct recorder *recorder)
{
	struct map_walk walk = { .fd = bpf_map__fd(recorder->skeleton->maps.sockets) };
	struct json *json = &recorder->json;
	struct socket_sum sum;
	__u64 key;

	while (map_next(&walk, &key, &sum)) {
		struct in_addr address;
		char text[INET_ADDRSTRLEN];

		address.s_addr = htonl(sum.local_address);
		inet_ntop(AF_INET, &address, text, sizeof(text));
		json_open(json, "socket");
		object_write(recorder, "object", key);
		json_format(json, "local", "%s:%u", sum.family == AF_INET ? text : "[]", sum.local_port);
		json_u64(json, "rtt_us", sum.rtt_us);
		json_u64(json, "minimum_rtt_us", sum.minimum_rtt_us);
		json_u64(json, "congestion_window", sum.congestion_window);
		json_u64(json, "in_flight", sum.in_flight);
		json_u64(json, "send_window_bytes", sum.send_window_bytes);
		json_u64(json, "receive_window_bytes", sum.receive_window_bytes);
		json_u64(json, "retransmits", sum.retransmits);
		json_u64(json, "retransmits_seen", lost_of(&sum));
		json_u64(json, "waits_congestion", sum.waits_congestion);
		json_u64(json, "waits_receiver", sum.waits_receiver);
		json_u64(json, "waits_buffer", sum.waits_buffer);
		json_u64(json, "waits_unasked", sum.waits_unasked);
		json_write(json, &recorder->output);
	}
}

static const char *const drop_kinds[DROP_KINDS] = {
	[DROP_FIREWALL] = "firewall",
	[DROP_FILTER] = "filter",
	[DROP_RECEIVE_BUFFER] = "receive_buffer",
	[DROP_QUEUE] = "queue",
	[DROP_BACKLOG] = "backlog",
	[DROP_LINK_ADDRESS] = "link_address",
	[DROP_REVERSE_PATH] = "reverse_path",
	[DROP_ROUTE] = "route",
	[DROP_CHECKSUM] = "checksum",
	[DROP_TOO_BIG] = "too_big",
};

/* Has the target anything to do with this peer? */
static bool is_known(struct recorder *recorder, __u64 peer)
{
	struct exchange_key key = { .object = peer, .direction = DIRECTION_CONNECTED };
	static struct exchange_tally tally;
	struct socket_sum sum;

	return !bpf_map__lookup_elem(recorder->skeleton->maps.sockets, &peer, sizeof(peer), &sum, sizeof(sum), 0) ||
	       !bpf_map__lookup_elem(recorder->skeleton->maps.exchanges, &key, sizeof(key), &tally, sizeof(tally), 0);
}

void packet_drops_write(struct recorder *recorder)
{
	struct map_walk walk = { .fd = bpf_map__fd(recorder->skeleton->maps.packet_drops) };
	struct json *json = &recorder->json;
	struct drop_key key;
	__u64 count;

	while (map_next(&walk, &key, &count)) {
		if (key.kind >= DROP_KINDS || !drop_kinds[key.kind] || !is_known(recorder, key.object))
			continue;
		json_open(json, "packet_drop");
		object_write(recorder, "object", key.object);
		json_text(json, "kind", drop_kinds[key.kind]);
		json_u64(json, "count", count);
		json_write(json, &recorder->output);
	}
}
