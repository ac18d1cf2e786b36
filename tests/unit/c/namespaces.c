// SPDX-License-Identifier: GPL-2.0-only
/* SOURCES: base/namespaces.c base/passed_descriptors.c base/netlink.c base/capabilities.c */
/* Settings of the network namespace of a process that has ended. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/namespaces.h"
#include "check.h"

/* -ENOENT would mean that the whole kernel has one such setting: the recorder's would be taken for the target's. */
static void a_process_that_has_ended_has_no_setting_of_the_kernel(void)
{
	pid_t child = fork();

	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	CHECK_NUMBER(namespaces_setting(child, "ipv4/tcp_sack"), -ESRCH);
}

int main(void)
{
	RUN(a_process_that_has_ended_has_no_setting_of_the_kernel);
	return check_result();
}
