/* SPDX-License-Identifier: GPL-2.0-only */
/* What the workloads that serve a file system through /dev/fuse have in common: no library, so no package, for it. */
#pragma once
#include "workload.h"
#include <linux/fuse.h>
#include <sys/mount.h>
#include <sys/uio.h>

enum { LARGEST_REQUEST = 1 << 20 };

static int device; /* /dev/fuse */

static inline void fuse_mount(const char *name, const char *path, const char *options)
{
	char type[64], all[256];

	device = CHECK(open("/dev/fuse", O_RDWR | O_CLOEXEC));
	snprintf(type, sizeof(type), "fuse.%s", name);
	snprintf(all, sizeof(all), "fd=%d,user_id=0,group_id=0,%s", device, options);
	CHECK(mount(name, path, type, MS_NOSUID | MS_NODEV, all));
}

/* Whoever asked may have given up meanwhile: ENOENT. */
static inline void answer(uint64_t unique, int error, const void *data, size_t bytes)
{
	struct fuse_out_header header = { .len = sizeof(header) + bytes, .error = -error, .unique = unique };
	struct iovec parts[] = { { &header, sizeof(header) }, { (void *)data, bytes } };

	if (writev(device, parts, bytes ? 2 : 1) < 0 && errno != ENOENT)
		die("writev to /dev/fuse");
}

static inline void answer_init(const struct fuse_in_header *in, const struct fuse_init_in *init,
			       unsigned int max_readahead, unsigned int flags)
{
	struct fuse_init_out welcome = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = max_readahead,
		.max_write = 1 << 17,
		.time_gran = 1,
		.max_background = 64,
		.flags = flags & init->flags,
	};

	answer(in->unique, 0, &welcome, sizeof(welcome));
}
