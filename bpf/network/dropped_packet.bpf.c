// SPDX-License-Identifier: GPL-2.0-only
/*
 * dropped_packet - which packets from and to peers does this host's own kernel drop, and why?
 *
 * HOOKS   tp_btf kfree_skb.
 * COST    a comparison for each buffer that is freed without having been consumed; two hash updates a dropped packet.
 * CANNOT  tell why before Linux 5.17, which gives no reasons, nor of packets that another host drops.  Behind extension
 *         headers of IPv6 no ports are looked for.
 */
#include "core/maps.bpf.h"
#include <bpf/bpf_endian.h>

char LICENSE[] SEC("license") = "GPL";

#define ETH_P_IP 0x0800
#define ETH_P_IPV6 0x86dd

/* The peers of everybody: of whom nobody has heard for long goes first.  2,048 of 24 bytes. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 2048);
	__type(key, struct drop_key);
	__type(value, __u64);
} packet_drops SEC(".maps");

struct ipv4_header {
	__u8 words : 4, version : 4;
	__u8 others[8];
	__u8 protocol;
	__u16 checksum;
	__u32 source, destination;
};

struct ipv6_header {
	__u8 others[6];
	__u8 protocol, hops;
	__u64 source[2], destination[2];
};

struct ports {
	__u16 source, destination;
};

#define IS(reason, name)                                                                                               \
	(bpf_core_enum_value_exists(enum skb_drop_reason, SKB_DROP_REASON_##name) &&                                   \
	 (reason) == (__u32)bpf_core_enum_value(enum skb_drop_reason, SKB_DROP_REASON_##name))

static __always_inline enum drop_kind kind_of(__u32 reason)
{
	if (IS(reason, NETFILTER_DROP))
		return DROP_FIREWALL;
	if (IS(reason, SOCKET_FILTER) || IS(reason, BPF_CGROUP_EGRESS) || IS(reason, TC_EGRESS) ||
	    IS(reason, TC_INGRESS) || IS(reason, XDP))
		return DROP_FILTER;
	if (IS(reason, SOCKET_RCVBUFF) || IS(reason, SOCKET_BACKLOG) || IS(reason, PROTO_MEM))
		return DROP_RECEIVE_BUFFER;
	if (IS(reason, QDISC_DROP) || IS(reason, QDISC_OVERLIMIT) || IS(reason, QDISC_CONGESTED) ||
	    IS(reason, FQ_BAND_LIMIT) || IS(reason, FQ_FLOW_LIMIT))
		return DROP_QUEUE;
	if (IS(reason, CPU_BACKLOG))
		return DROP_BACKLOG;
	if (IS(reason, NEIGH_CREATEFAIL) || IS(reason, NEIGH_FAILED) || IS(reason, NEIGH_QUEUEFULL) ||
	    IS(reason, NEIGH_DEAD))
		return DROP_LINK_ADDRESS;
	if (IS(reason, IP_RPFILTER))
		return DROP_REVERSE_PATH;
	if (IS(reason, IP_OUTNOROUTES))
		return DROP_ROUTE;
	if (IS(reason, IP_CSUM) || IS(reason, TCP_CSUM) || IS(reason, UDP_CSUM))
		return DROP_CHECKSUM;
	return IS(reason, PKT_TOO_BIG) ? DROP_TOO_BIG : DROP_NONE;
}

/* As peer_object() has it of a socket. */
static __always_inline __u64 peer6(const __u64 *words, __u16 port)
{
	return OBJECT(OBJECT_PEER6, ((words[0] * 31 + words[1]) * 0x9e3779b97f4a7c15ULL >> 8) + port);
}

static __always_inline void count(__u64 object, enum drop_kind kind)
{
	struct drop_key key = { .object = object, .kind = kind };
	__u64 *sum = bpf_map_lookup_elem(&packet_drops, &key), one = 1;

	if (sum)
		__sync_fetch_and_add(sum, 1);
	else
		bpf_map_update_elem(&packet_drops, &key, &one, BPF_NOEXIST);
}

static __always_inline bool read_ports(const void *header, __u8 protocol, struct ports *ports)
{
	if ((protocol != IPPROTO_TCP && protocol != IPPROTO_UDP) ||
	    bpf_probe_read_kernel(ports, sizeof(*ports), header))
		return false;
	ports->source = bpf_ntohs(ports->source);
	ports->destination = bpf_ntohs(ports->destination);
	return true;
}

static __always_inline void count_ipv4(const void *header, enum drop_kind kind)
{
	struct ipv4_header ip;
	struct ports ports;

	if (bpf_probe_read_kernel(&ip, sizeof(ip), header) || ip.version != 4 ||
	    !read_ports(header + 4 * ip.words, ip.protocol, &ports))
		return;
	count(OBJECT(OBJECT_PEER, (__u64)bpf_ntohl(ip.source) << 16 | ports.source), kind);
	count(OBJECT(OBJECT_PEER, (__u64)bpf_ntohl(ip.destination) << 16 | ports.destination), kind);
}

static __always_inline void count_ipv6(const void *header, enum drop_kind kind)
{
	struct ipv6_header ip;
	struct ports ports;

	if (bpf_probe_read_kernel(&ip, sizeof(ip), header) || !read_ports(header + sizeof(ip), ip.protocol, &ports))
		return;
	count(peer6(ip.source, ports.source), kind);
	count(peer6(ip.destination, ports.destination), kind);
}

/* Its arguments: the buffer, where it was freed, and why. */
SEC("tp_btf/kfree_skb")
int dropped_packet(__u64 *context)
{
	const struct sk_buff *buffer;
	enum drop_kind kind;
	const void *header;
	__u16 protocol;

	if (!knobs.window_open || !bpf_core_type_exists(enum skb_drop_reason))
		return 0;
	kind = kind_of(context[2]);
	if (!kind)
		return 0;
	buffer = (const struct sk_buff *)context[0];
	header = BPF_CORE_READ(buffer, head) + BPF_CORE_READ(buffer, network_header);
	protocol = bpf_ntohs(BPF_CORE_READ(buffer, protocol));
	if (protocol == ETH_P_IP)
		count_ipv4(header, kind);
	else if (protocol == ETH_P_IPV6)
		count_ipv6(header, kind);
	return 0;
}
