// SPDX-License-Identifier: GPL-2.0-only
/*
 * packet_loss - do connections the target waits on lose packets inside the window, and do answers on their way to clients?
 *
 * HOOKS   tp_btf tcp_retransmit_skb.
 * COST    two hash look-ups a retransmitted segment; none otherwise.
 * CANNOT  see connections the target neither blocked on nor read a request from.
 */
#include "network/socket.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define RECOVERY 3 /* enum tcp_ca_state: acknowledgements of what came later have told of a loss, not a timeout */

/*
 * Of an answer that was written whole a segment is sent again: since it was written, or sent again last, the client has
 * waited for that timeout, or for the acknowledgement of what the timeout sent.  That is the least: the loss of a segment
 * that others behind it make known costs a round trip, which is not counted.
 */
static __always_inline void delay_answer(const struct sock *sock, __u64 now)
{
	struct connection *connection = knobs.window_open ? connection_given(sock) : NULL;
	const struct inet_connection_sock *tcp = (const struct inet_connection_sock *)sock;
	__u64 since, ns, timeout_ns;

	if (!connection || connection->direction != DIRECTION_ACCEPTED || connection->exchange != EXCHANGE_ANSWERED ||
	    BPF_CORE_READ_BITFIELD_PROBED(tcp, icsk_ca_state) == RECOVERY)
		return;
	since = connection->resent_at > connection->last ? connection->resent_at : connection->last;
	ns = now > since ? now - since : 0;
	timeout_ns = BPF_CORE_READ(tcp, icsk_rto) * knobs.tick_ns;
	if (!connection->resent_ns) {
		connection->resends = 0;
		connection->resent_sock = (__u64)sock;
		connection->duplicates = duplicates_of(sock);
	}
	connection->resends++;
	connection->resent_at = now;
	connection->resent_ns += ns < timeout_ns ? ns : timeout_ns;
}

SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(tcp_retransmit_skb, const struct sock *sock)
{
	__u16 family = sock->__sk_common.skc_family;
	__u64 object = peer_object(sock, family);
	struct socket_sum *sum = bpf_map_lookup_elem(&sockets, &object);

	if (sum) {
		if (!sum->retransmits_seen)
			sum->duplicates = duplicates_of(sock);
		__sync_fetch_and_add(&sum->retransmits_seen, 1);
	}
	delay_answer(sock, bpf_ktime_get_ns());
	return 0;
}
