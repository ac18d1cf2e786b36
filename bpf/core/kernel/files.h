/* SPDX-License-Identifier: GPL-2.0-only */
/* Fields of files, of their names, and of who has them open: part of kernel.h. */
#pragma once

struct super_block {
	__u32 s_dev;
	unsigned long s_magic;
	void *s_fs_info;
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
	struct hlist_node d_alias;
	struct inode *d_inode;
};

/* Its union may have a name, see alias_offset(). */
struct dentry___named {
	struct {
		struct hlist_node d_alias;
	} d_u;
};

struct inode {
	struct hlist_head i_dentry;
	__u16 i_mode;
	__u32 i_rdev;
	struct super_block *i_sb;
	unsigned long i_ino;
	__s64 i_size;
};

struct address_space {
	struct inode *host;
};

struct path {
	struct dentry *dentry;
};

struct file {
	struct inode *f_inode;
	struct path f_path;
	void *private_data;
	unsigned int f_flags;
};

/* Slots: filled up to head, emptied up to tail. */
struct pipe_inode_info {
	unsigned int head, tail, max_usage;
};

struct vm_area_struct {
	struct file *vm_file;
};

struct rb_node {
	unsigned long __rb_parent_color;
	struct rb_node *rb_right, *rb_left;
};

struct rb_root_cached {
	struct {
		struct rb_node *rb_node;
	} rb_root;
};

struct eventpoll {
	struct rb_root_cached rbr;
};

/* One descriptor of an epoll instance. */
struct epitem {
	struct rb_node rbn;
	struct {
		struct file *file;
		int fd;
	} ffd;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};
