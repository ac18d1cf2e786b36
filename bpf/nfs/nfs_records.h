/* SPDX-License-Identifier: GPL-2.0-only */
/* What the NFS programs keep beside the threads; plain C types only, as in records.h. */
#pragma once
#include "core/records.h"

/* Of a client's id: not of its address, which is a multiple of its size rounded up to a power of two, 1 KiB. */
#define RPC_CLIENTS_GONE 0xffULL

/* Remote procedure calls of one client (of a mount, as a rule), by its id, and procedure, by its address. */
struct rpc_key {
	__u64 client;
	__u64 procedure;
};

struct rpc_sum {
	__u64 count, errors, retransmits, bytes_sent, bytes_received;
	__u64 queue_ns, wire_ns, reply_ns, max_ns;
	__u32 queue_buckets[BUCKETS];
	__u32 wire_buckets[BUCKETS];
};

#define RPC_NAME_BYTES 24
#define RPC_SERVER_BYTES 48

struct rpc_name {
	char program[RPC_NAME_BYTES];
	char procedure[RPC_NAME_BYTES];
	char server[RPC_SERVER_BYTES];
	__u32 version;
};

/* Flushes of NFS files by threads of the target. */
struct nfs_flush_key {
	__u64 call; /* as an object of kind OBJECT_SYSCALL, 0: none */
	__u32 device;
	__u32 padding;
};

struct nfs_flush_sum {
	__u64 count, ns, max_ns, commits, writes, stable_writes, bytes;
	__u32 buckets[BUCKETS];
};

/* Program numbers, RFC 5531 and the IANA registry. */
#define PROGRAM_NFS 100003
#define PROGRAM_NLM 100021
#define PROGRAM_NFSACL 100227

/* What this host serves as an NFS server; an operation of a COMPOUND has the program NFSD_OPERATION. */
#define NFSD_OPERATION 0

struct nfsd_key {
	__u64 name; /* address of the procedure's or operation's name */
	__u32 program, version;
};

struct nfsd_sum {
	__u64 count, ns, max_ns;
	char name[RPC_NAME_BYTES];
	__u32 buckets[BUCKETS];
};
