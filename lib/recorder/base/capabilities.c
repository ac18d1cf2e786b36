// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include "base/capabilities.h"
#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HALF(set, i) ((uint32_t)((set) >> (32 * (i))))
#define SET(data, field) (data[0].field | (uint64_t)data[1].field << 32)

static struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

uint64_t capabilities_permitted(void)
{
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};

	return syscall(SYS_capget, &header, data) ? 0 : SET(data, permitted);
}

int capabilities_keep(uint64_t permitted, uint64_t effective)
{
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_capget, &header, data))
		return -errno;
	if (SET(data, effective) & CAPABILITY(SETPCAP))
		for (int i = 0; !prctl(PR_CAPBSET_DROP, i, 0, 0, 0); i++)
			; /* until the kernel knows no more */
	permitted &= SET(data, permitted);
	effective &= permitted;
	/* What is not inheritable is not ambient either: the kernel sees to that. */
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		data[i] = (struct __user_cap_data_struct){ .permitted = HALF(permitted, i),
							   .effective = HALF(effective, i) };
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}
