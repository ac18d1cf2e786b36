/* SPDX-License-Identifier: GPL-2.0-only */
/* Fields of sockets: part of kernel.h. */
#pragma once

struct in6_addr {
	__u8 bytes[16];
};

struct sock_common {
	unsigned int skc_hash;
	__u32 skc_daddr, skc_rcv_saddr;
	__u16 skc_dport, skc_num;
	unsigned short skc_family;
	unsigned char skc_state;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
	struct {
		__s64 counter;
	} skc_cookie;
};

struct sk_buff_head {
	struct sk_buff *next;
	__u32 qlen;
};

struct sk_buff {
	struct sk_buff *next;
	struct sock *sk;
	unsigned char *head;
	__u16 protocol, transport_header, network_header;
};

/* Only names count: values are those of the running kernel, and many are new in some version. */
enum skb_drop_reason {
	SKB_DROP_REASON_NOT_SPECIFIED,
	SKB_DROP_REASON_NETFILTER_DROP,
	SKB_DROP_REASON_SOCKET_FILTER,
	SKB_DROP_REASON_BPF_CGROUP_EGRESS,
	SKB_DROP_REASON_TC_EGRESS,
	SKB_DROP_REASON_TC_INGRESS,
	SKB_DROP_REASON_XDP,
	SKB_DROP_REASON_SOCKET_RCVBUFF,
	SKB_DROP_REASON_SOCKET_BACKLOG,
	SKB_DROP_REASON_PROTO_MEM,
	SKB_DROP_REASON_QDISC_DROP,
	SKB_DROP_REASON_QDISC_OVERLIMIT,
	SKB_DROP_REASON_QDISC_CONGESTED,
	SKB_DROP_REASON_FQ_BAND_LIMIT,
	SKB_DROP_REASON_FQ_FLOW_LIMIT,
	SKB_DROP_REASON_CPU_BACKLOG,
	SKB_DROP_REASON_NEIGH_CREATEFAIL,
	SKB_DROP_REASON_NEIGH_FAILED,
	SKB_DROP_REASON_NEIGH_QUEUEFULL,
	SKB_DROP_REASON_NEIGH_DEAD,
	SKB_DROP_REASON_IP_RPFILTER,
	SKB_DROP_REASON_IP_OUTNOROUTES,
	SKB_DROP_REASON_IP_CSUM,
	SKB_DROP_REASON_TCP_CSUM,
	SKB_DROP_REASON_UDP_CSUM,
	SKB_DROP_REASON_PKT_TOO_BIG,
};

struct socket_wq {
	struct {
		struct list_head head;
	} wait;
};

struct sock {
	struct sock_common __sk_common;
	struct sk_buff_head sk_receive_queue;
	__u16 sk_protocol, sk_type;
	__u8 sk_userlocks : 4;
	__u8 sk_shutdown;
	__u32 sk_max_ack_backlog;
	struct pid *sk_peer_pid;
	struct socket *sk_socket;
	struct socket_wq *sk_wq;
};

struct sockaddr_un {
	__u16 sun_family;
	char sun_path[108];
};

struct unix_address {
	struct {
		struct {
			int counter;
		} refs;
	} refcnt;
	int len;
	struct sockaddr_un name[];
};

struct unix_sock {
	struct sock *peer;
	struct unix_address *addr;
	struct path path;
};

struct socket {
	unsigned long flags;
	struct file *file;
	struct sock *sk;
};

struct minmax_sample {
	__u32 t, v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_sock {
	__u32 srtt_us, snd_cwnd, packets_out, snd_wnd, rcv_wnd, total_retrans;
	__u32 snd_una, snd_nxt, snd_wl1, write_seq, rcv_nxt, copied_seq;
	__u32 mss_cache, lsndtime, dsack_dups;
	__u64 bytes_sent, bytes_received;
	__u8 nonagle : 4;
	struct minmax rtt_min;
	bool is_mptcp;
};

struct mptcp_sock {
	struct sock *first;
	__u32 token;
};

struct request_sock {
	struct request_sock *dl_next;
	struct sock *sk;
};

struct inet_connection_sock {
	__u32 icsk_rto; /* in jiffies */
	__u8 icsk_ca_state : 5;
	struct {
		__u32 lrcvtime;
	} icsk_ack;
	struct {
		struct request_sock *rskq_accept_head;
	} icsk_accept_queue;
};
