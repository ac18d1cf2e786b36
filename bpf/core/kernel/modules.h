/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fields of modules: part of kernel.h.  Read with BPF_CORE_READ(), a cast knows the kernel's own types only.
 */
#pragma once

/* Of sunrpc, nfs and nfsd. */
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

/* What a module of one vendor keeps around struct kvm_vcpu, which stands first in it. */
struct vmcb_control_area {
	__u32 exit_code; /* 64 bits wide on 7.2: the lower half */
};

struct vmcb {
	struct vmcb_control_area control;
};

struct vcpu_svm {
	struct vmcb *vmcb;
};

union vmx_exit_reason {
	__u32 full;
};

struct vcpu_vmx {
	union vmx_exit_reason exit_reason;
};

struct vcpu_vt {
	union vmx_exit_reason exit_reason;
};

/* See vmx_exit_code(). */
struct vcpu_vmx___vt {
	struct vcpu_vt vt;
};
