// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include "base/privileges.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/namespaces.h"

/* What costs a recording something where it is missing: only the ledger needs the other ones. */
static const struct {
	uint64_t capability;
	const char *name;
} optional[] = {
	{ CAPABILITY(CHECKPOINT_RESTORE), "CAP_CHECKPOINT_RESTORE" },
	{ CAPABILITY(DAC_READ_SEARCH), "CAP_DAC_READ_SEARCH" },
	{ CAPABILITY(IPC_LOCK), "CAP_IPC_LOCK" },
	{ CAPABILITY(SYSLOG), "CAP_SYSLOG" },
	{ CAPABILITY(SYS_ADMIN), "CAP_SYS_ADMIN" },
	{ CAPABILITY(SYS_PTRACE), "CAP_SYS_PTRACE" },
	{ CAPABILITY(SYS_RAWIO), "CAP_SYS_RAWIO" },
};

static uint64_t held, unused;

static int keep(uint64_t permitted, uint64_t effective)
{
	int err = capabilities_keep(permitted, effective);

	if (err)
		fprintf(stderr, "error: capabilities cannot be given up: %s\n", strerror(-err));
	return err;
}

void privileges_begin(void)
{
	held = capabilities_permitted();
	if (access("/dev/cpu/0/msr", F_OK))
		unused = CAPABILITY(SYS_RAWIO);
	if (held & OF_NAMESPACES)
		namespaces_start();
}

int privileges_loaded(void)
{
	return keep(OF_LOADING & ~unused, OF_LOADING & ~unused);
}

int privileges_attached(void)
{
	return keep(OF_WINDOW & ~unused, OF_RECORDER);
}

bool privileges_has(uint64_t capability)
{
	return held & capability;
}

#define FIRST_USER_NAMESPACE 0xEFFFFFFDU /* its inode: PROC_USER_INIT_INO of include/linux/proc_ns.h */

bool privileges_are_of_namespace(void)
{
	struct stat namespace;

	return !stat("/proc/self/ns/user", &namespace) && namespace.st_ino != FIRST_USER_NAMESPACE;
}

void privileges_write(struct json *json)
{
	json_array(json, "lacks");
	for (size_t i = 0; i < sizeof(optional) / sizeof(*optional); i++)
		if (!((held | unused) & optional[i].capability))
			json_text(json, NULL, optional[i].name);
	json_end(json);
}
