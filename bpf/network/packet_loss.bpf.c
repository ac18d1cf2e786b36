// SPDX-License-Identifier: GPL-2.0-only
/*
 * packet_loss - do connections the target waits on lose packets inside the window?
 *
 * HOOKS   tp_btf tcp_retransmit_skb.
 * COST    one hash look-up a retransmitted segment; none otherwise.
 * CANNOT  see connections the target never blocked on.
 */
#include "network/socket.bpf.h"

char LICENSE[] SEC("license") = "GPL";

SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(tcp_retransmit_skb, const struct sock *sock)
{
	__u16 family = sock->__sk_common.skc_family;
	__u64 object = peer_object(sock, family);
	struct socket_sum *sum = bpf_map_lookup_elem(&sockets, &object);

	if (sum)
		__sync_fetch_and_add(&sum->retransmits_seen, 1);
	return 0;
}
