/* SPDX-License-Identifier: GPL-2.0-only */
/* Part of kernel.h: constants of the user-space ABI or unchanged for a decade; include/linux/sched.h and friends. */
#pragma once

#define TASK_UNINTERRUPTIBLE 0x0002
#define TASK_STOPPED_BIT 0x0004
#define TASK_TRACED_BIT 0x0008
#define TASK_DEAD 0x0080
#define TASK_FROZEN 0x8000 /* f5d39b020809 ("freezer,sched: Rewrite core freezer logic"), v6.1 */
#define TASK_NOLOAD 0x0400
#define JOBCTL_TRAP_FREEZE (1UL << 23) /* 76f969e8948d ("cgroup: cgroup v2 freezer"), v5.2 */
#define PF_VCPU 0x00000001	       /* in a guest, or in an interrupt that came there */
#define PF_EXITING 0x00000004
#define PF_IO_WORKER 0x00000010
#define PF_MEMALLOC 0x00000800
#define PF_USER_WORKER 0x00004000 /* 54e6842d0775 ("fork/vm: Move common PF_IO_WORKER behavior ..."), v6.4 */
#define PF_KTHREAD 0x00200000

#define S_IFMT 0170000
#define S_IFSOCK 0140000
#define S_IFREG 0100000
#define S_IFBLK 0060000
#define S_IFDIR 0040000
#define S_IFIFO 0010000
#define O_DSYNC 00010000

#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define AF_VSOCK 40
#define SOCK_STREAM 1
#define SOCK_NOSPACE 2	     /* a bit of socket.flags */
#define SOCK_SNDBUF_LOCK 1   /* of sk_userlocks: SO_SNDBUF was set */
#define SOCK_BINDADDR_LOCK 4 /* of sk_userlocks: bind() named an address, or a port */
#define SOCK_BINDPORT_LOCK 8
#define TCP_ESTABLISHED 1
#define TCP_SYN_SENT 2
#define TCP_SYN_RECV 3
#define TCP_FIN_WAIT1 4
#define TCP_CLOSE 7
#define TCP_CLOSE_WAIT 8
#define TCP_LAST_ACK 9
#define TCP_LISTEN 10
#define RCV_SHUTDOWN 1
#define SHUTDOWN_MASK 3 /* nothing is sent or received any more */
#define IPPROTO_TCP 6
#define IPPROTO_MPTCP 262
#define IPPROTO_UDP 17

#define TIMER_SOFTIRQ 1
#define HRTIMER_SOFTIRQ 8

#define FUSE_MAGIC 0x65735546
#define NFS_MAGIC 0x6969
#define CIFS_MAGIC 0xff534d42
#define SMB2_MAGIC 0xfe534d42
#define V9FS_MAGIC 0x01021997
#define CEPH_MAGIC 0x00c36400
#define AFS_MAGIC 0x5346414f
#define ANON_INODE_MAGIC 0x09041934
