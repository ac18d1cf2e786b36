/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * As kernel.h, for sunrpc, nfs and nfsd, which are modules: read with BPF_CORE_READ(), for the cast behind LOAD() knows
 * the kernel's own types only.
 */
#pragma once
#include "kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rpc_procinfo {
	const char *p_name;
};

struct rpc_program {
	const char *name;
};

struct rpc_xprt {
	const char *address_strings[6];
};

struct rpc_clnt {
	unsigned int cl_vers;
	struct rpc_xprt *cl_xprt;
	const struct rpc_program *cl_program;
};

struct rpc_rqst {
	__u64 rq_xmit_bytes_sent, rq_reply_bytes_recvd;
	int rq_ntrans;
};

struct rpc_message {
	const struct rpc_procinfo *rpc_proc;
};

struct rpc_task {
	int tk_status;
	struct rpc_message tk_msg;
	struct rpc_clnt *tk_client;
	struct rpc_rqst *tk_rqstp;
};

struct nfs_server {
	struct rpc_clnt *client, *client_acl;
};

enum nfs3_stable_how { NFS_UNSTABLE, NFS_DATA_SYNC, NFS_FILE_SYNC };

struct nfs_pgio_args {
	__u32 count;
	enum nfs3_stable_how stable;
};

struct nfs_pgio_header {
	struct inode *inode;
	struct nfs_pgio_args args;
};

struct nfs_commit_data {
	struct inode *inode;
};

struct svc_procedure {
	const char *pc_name;
};

struct svc_rqst {
	const struct svc_procedure *rq_procinfo;
	__u32 rq_prog, rq_vers;
	__s64 rq_stime;
};

#pragma clang attribute pop
