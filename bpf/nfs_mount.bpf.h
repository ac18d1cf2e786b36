/* SPDX-License-Identifier: GPL-2.0-only */
/* Which mount a client of remote procedure calls belongs to. */
#pragma once
#include "maps.bpf.h"

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

	learn_mount((__u64)BPF_CORE_READ(server, client), device);
	learn_mount((__u64)BPF_CORE_READ(server, client_acl), device);
}
