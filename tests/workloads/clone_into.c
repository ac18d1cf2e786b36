/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * clone_into - starts a program that begins its life in a control group (version 2), as systemd starts the processes of
 * a unit: nobody is moved there; or with a pid that was another's before.  clone_into GROUP|PID PROGRAM [ARGUMENT]...;
 * waits for it and ends with its status.
 */
#include "workload.h"
#include <linux/sched.h>

int main(int argc, char **argv)
{
	struct clone_args arguments = { .exit_signal = SIGCHLD };
	pid_t child, wanted;
	int status;

	if (argc < 3)
		return 2;
	wanted = atoi(argv[1]);
	if (wanted) {
		arguments.set_tid = (uintptr_t)&wanted;
		arguments.set_tid_size = 1;
	} else {
		arguments.flags = CLONE_INTO_CGROUP;
		arguments.cgroup = CHECK(open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	}
	child = CHECK(syscall(SYS_clone3, &arguments, sizeof(arguments)));
	if (!child) {
		execv(argv[2], argv + 2);
		die(argv[2]);
	}
	CHECK(waitpid(child, &status, 0));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
