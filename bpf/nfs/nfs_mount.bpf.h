/* SPDX-License-Identifier: GPL-2.0-only */
/* Which mount a client of remote procedure calls belongs to. */
#pragma once
#include "core/maps.bpf.h"
#include "nfs/nfs_records.h"

/*
 * The id of a client (struct rpc_clnt): its address, and in the bits that are zero there how many clients that are gone
 * had this address before it.  The kernel likes to give the memory of one to the next: that of a mount, or of who asks
 * a server's portmapper when one is mounted.
 */
static __always_inline __u64 client_id(const struct rpc_clnt *client)
{
	__u64 address = (__u64)client, *gone = address ? bpf_map_lookup_elem(&rpc_gone, &address) : NULL;

	return gone ? address | *gone : address;
}

static __always_inline void forget_client(const struct rpc_clnt *client)
{
	__u64 address = 0, id, gone;

	bpf_probe_read_kernel(&address, sizeof(address), &client); /* a number: Linux 7.2 counts in no pointer */
	id = client_id((const struct rpc_clnt *)address);
	gone = (id & RPC_CLIENTS_GONE) + 1;
	if (gone <= RPC_CLIENTS_GONE && bpf_map_update_elem(&rpc_gone, &address, &gone, BPF_ANY))
		count_loss(COUNTER_NAMES_FULL);
}

/* A call itself knows no file: the mount of its client is learnt from inodes. */
static __always_inline void learn_mount(__u64 client, __u32 device)
{
	__u32 *known = client ? bpf_map_lookup_elem(&rpc_mounts, &client) : &device;

	if (known && *known == device)
		return;
	if (bpf_map_update_elem(&rpc_mounts, &client, &device, BPF_ANY))
		count_loss(COUNTER_NAMES_FULL);
}

static __always_inline void meet_inode(struct inode *inode)
{
	struct super_block *super = BPF_CORE_READ(inode, i_sb);
	struct nfs_server *server = BPF_CORE_READ(super, s_fs_info);
	__u32 device = BPF_CORE_READ(super, s_dev);

	learn_mount(client_id(BPF_CORE_READ(server, client)), device);
	learn_mount(client_id(BPF_CORE_READ(server, client_acl)), device);
}
