/* SPDX-License-Identifier: GPL-2.0-only */
/* What an open file is: type, file system, device.  Read from the thread's own descriptor table. */
#pragma once
#include "core/object_names.bpf.h"

struct open_file {
	struct file *file;
	__u64 inode;
	unsigned long magic;
	__u32 mode, device, flags;
};

/* fd is an int: the upper half of its register is whatever the caller left there. */
static __always_inline struct file *file_of(struct task_struct *task, __u32 fd)
{
	struct fdtable *table = LOAD(files_struct, LOAD(task_struct, task, files), fdt);

	if (fd >= LOAD(fdtable, table, max_fds))
		return NULL;
	/* Any type that begins with a pointer will do to load one. */
	return (struct file *)LOAD(list_head, LOAD(fdtable, table, fd) + fd, next);
}

static __always_inline int read_file(struct file *file, struct open_file *open)
{
	struct super_block *super;
	struct inode *inode;

	open->file = file;
	if (!file)
		return -1;
	inode = LOAD(file, file, f_inode);
	if (!inode)
		return -1;
	open->mode = LOAD(inode, inode, i_mode);
	open->inode = LOAD(inode, inode, i_ino);
	super = LOAD(inode, inode, i_sb);
	open->flags = LOAD(file, file, f_flags);
	open->magic = LOAD(super_block, super, s_magic);
	/* A block device's own inode lives on a pseudo file system; its device is the one it stands for. */
	open->device = (open->mode & S_IFMT) == S_IFBLK ? LOAD(inode, inode, i_rdev) : LOAD(super_block, super, s_dev);
	return 0;
}

/* Files without a name tell their kind by what stands for it; eight letters of that are enough. */
static __always_inline bool is_of_kind(struct file *file, const char letters[8])
{
	struct dentry *dentry = LOAD(file, file, f_path.dentry);
	char kind[8] = {};

	bpf_probe_read_kernel(kind, sizeof(kind), LOAD(dentry, dentry, d_name.name));
	return !__builtin_memcmp(kind, letters, 8);
}

static __always_inline int read_open_file(struct task_struct *task, __u32 fd, struct open_file *open)
{
	return read_file(file_of(task, fd), open);
}

static long take_file(struct task_struct *task, struct vm_area_struct *area, struct file **file)
{
	*file = area->vm_file;
	return 0;
}

/* The file that the current task has mapped at an address; not told while somebody changes its mappings. */
static __always_inline int read_mapped_file(__u64 address, struct open_file *open)
{
	struct file *file = NULL;

	bpf_find_vma(bpf_get_current_task_btf(), address, take_file, &file, 0);
	return read_file(file, open);
}

static __always_inline bool is_remote(unsigned long magic)
{
	switch ((__u32)magic) {
	case FUSE_MAGIC:
	case NFS_MAGIC:
	case CIFS_MAGIC:
	case SMB2_MAGIC:
	case V9FS_MAGIC:
	case CEPH_MAGIC:
	case AFS_MAGIC: return true;
	}
	return false;
}

/* A name of the inode, any of several: the last component of its path. */
static __always_inline void copy_base(char base[FILE_NAME_BYTES], struct inode *inode)
{
	struct hlist_node *alias = LOAD(inode, inode, i_dentry.first);
	struct dentry *dentry = (void *)alias - alias_offset();

	if (alias)
		bpf_probe_read_kernel_str(base, FILE_NAME_BYTES, LOAD(dentry, dentry, d_name.name));
}

/* Device and inode number together are more than 56 bits: the object is their hash, the name keeps both. */
static __always_inline __u64 file_object(struct inode *inode)
{
	__u32 device = LOAD(super_block, LOAD(inode, inode, i_sb), s_dev);
	__u64 number = LOAD(inode, inode, i_ino);
	__u64 object = OBJECT(OBJECT_FILE, (number ^ ((__u64)device << 32)) * 0x9e3779b97f4a7c15ULL >> 8);
	struct object_name *name = new_name(object);

	if (name) {
		name->file.inode = number;
		name->file.device = device;
		copy_base(name->file.base, inode);
	}
	return object;
}
