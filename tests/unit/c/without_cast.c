/* SPDX-License-Identifier: GPL-2.0-only */
/* Linked into a recorder of its own (tests/live/test_without_cast.py): it reads kernel objects as before Linux 6.2. */
#include <errno.h>
#include <string.h>
#include <bpf/libbpf.h>
#include "core/records.h"
#include "perfdiag.skel.h"

int __real_bpf_object__load_skeleton(struct bpf_object_skeleton *skeleton);
int __wrap_bpf_object__load_skeleton(struct bpf_object_skeleton *skeleton);

int __wrap_bpf_object__load_skeleton(struct bpf_object_skeleton *skeleton)
{
	for (int i = 0; i < skeleton->map_cnt; i++) {
		struct perfdiag__rodata *data;

		if (!strstr(skeleton->maps[i].name, ".rodata"))
			continue;
		data = *skeleton->maps[i].mmaped;
		if (!data->has_rdonly_cast)
			break;
		data->has_rdonly_cast = false;
		return __real_bpf_object__load_skeleton(skeleton);
	}
	return -EINVAL; /* there was nothing to switch off: nothing would be tested */
}
