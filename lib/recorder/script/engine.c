// SPDX-License-Identifier: GPL-2.0-only
/*
 * What runs a script that records.  Interpreter and script are run as root, so both must be root's alone, by an absolute
 * path, with none of the caller's environment.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "script/engine.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/*
 * Runs the script named behind it.  Python would also take modules, and run lines of files *.pth, from directories that a
 * group of administrators may write to (/usr/local): -S keeps it from all, and those that root alone can change are
 * given back.
 */
static const char python_of_root[] = "import os, runpy, site, sys\n"
				     "def is_of_root(path):\n"
				     "    status = os.stat(path)\n"
				     "    own = status.st_uid == 0 and not status.st_mode & 0o022\n"
				     "    return own and (path == '/' or is_of_root(os.path.dirname(path)))\n"
				     "found = filter(os.path.isdir, map(os.path.realpath, site.getsitepackages()))\n"
				     "sys.path += filter(is_of_root, found)\n"
				     "del sys.argv[0]\n"
				     "runpy.run_path(sys.argv[0], run_name='__main__')\n";

/* Those that tell most come first. */
static const struct engine engines[] = {
	{ .name = "bcc",
	  .script = "tools/ledger.py",
	  .program = "/usr/bin/python3",
	  .options = { "-ISB", "-c", python_of_root },
	  .complains = "error",
	  .installed_by = "apt install python3-bpfcc, or record with --engine libbpf",
	  .needs = "apt install python3-bpfcc; it needs tracepoints" },
	{ .name = "bpftrace",
	  .script = "tools/ledger.bt",
	  .program = "/usr/bin/bpftrace",
	  .options = { "-q", "--no-warnings" },
	  .complains = "error",
	  .installed_by = "apt install bpftrace, or record with --engine libbpf",
	  .needs = "it needs bpftrace 0.17 or later, and tracepoints",
	  .again_ms = 2000 },
	{ .name = "dtrace",
	  .script = "dtrace/ledger.d",
	  .program = "/usr/sbin/dtrace",
	  .options = { "-s" },
	  .complains = "dtrace: ",
	  .installed_by = "install DTrace for Linux (apt install dtrace), or record with --engine libbpf",
	  .needs = "it needs DTrace for Linux 2.0, and tracepoints" },
};

const struct engine *engine_of(const char *script)
{
	const char *suffix = strrchr(script, '.');

	for (size_t i = 0; suffix && i < COUNT(engines); i++)
		if (!strcmp(suffix, strrchr(engines[i].script, '.')))
			return &engines[i];
	return NULL;
}

const struct engine *engine_named(const char *name)
{
	for (size_t i = 0; i < COUNT(engines); i++)
		if (!strcmp(name, engines[i].name))
			return &engines[i];
	return NULL;
}

const struct engine *engine_after(const struct engine *engine)
{
	if (!engine)
		return engines;
	return engine + 1 < engines + COUNT(engines) ? engine + 1 : NULL;
}

/*
 * Who can change what root runs is root: the file, and each directory on its path.  In a directory that anybody may write
 * to, a file of root's stays his where the sticky bit is set; on a file that bit means nothing.
 */
static int check_owner(const char *real, struct lack *lack)
{
	_cleanup_free_ char *path = strdup(real);
	struct stat status;

	if (!path)
		return -ENOMEM;
	for (;;) {
		char *slash = strrchr(path, '/');

		if (stat(*path ? path : "/", &status))
			return -errno;
		if (status.st_uid || (status.st_mode & 022 && !(S_ISDIR(status.st_mode) && status.st_mode & S_ISVTX)))
			return lack_of(lack, -EACCES, "install perfdiag and the engine as root: make install",
				       "%s is not root's alone, and would be run by root", *path ? path : "/");
		if (!*path)
			return 0;
		*slash = 0;
	}
}

static char *find(const char *path, const char *remedy, struct lack *lack)
{
	char *real = realpath(path, NULL);

	if (!real)
		lack_of(lack, 0, remedy, "%s: %s", path, strerror(errno));
	return real;
}

int engine_check(const struct engine *engine, const char *script, char **ret, struct lack *lack)
{
	_cleanup_free_ char *program = find(engine->program, engine->installed_by, lack), *real = NULL;
	int err;

	if (!program)
		return -ENOENT;
	real = find(script, "make install", lack);
	if (!real)
		return -ENOENT;
	err = check_owner(program, lack) ?: check_owner(real, lack);
	if (!err)
		*ret = take_pointer(real); /* not by links that lead to what was checked */
	return err;
}

/* In the child: never returns. */
static void become(const struct engine *engine, const char *script, pid_t target, pid_t parent, int output,
		   int messages)
{
	static char *const environment[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/", "LC_ALL=C", NULL };
	const char *arguments[ENGINE_OPTIONS + 4] = { engine->program };
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC), count = 1;
	char number[16];
	sigset_t none;

	for (int i = 0; i < ENGINE_OPTIONS && engine->options[i]; i++)
		arguments[count++] = engine->options[i];
	arguments[count++] = script;
	arguments[count++] = number;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGINT, SIG_DFL); /* ignored by what a shell starts in the background, and DTrace leaves it so */
	snprintf(number, sizeof(number), "%d", target);
	setsid(); /* Ctrl-C is for the recorder, which tells it */
	if (!prctl(PR_SET_PDEATHSIG, SIGKILL) && getppid() == parent && nothing >= 0 &&
	    dup2(nothing, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 && dup2(messages, STDERR_FILENO) >= 0)
		execve(engine->program, (char *const *)arguments, environment);
	_exit(127);
}

int engine_start(const struct engine *engine, const char *script, pid_t target, int messages, pid_t *pid, int *output)
{
	_cleanup_close_ int reader = -1, writer = -1;
	pid_t parent = getpid();
	int pipe_fds[2];

	if (pipe2(pipe_fds, O_CLOEXEC))
		return -errno;
	reader = pipe_fds[0];
	writer = pipe_fds[1];
	if (fcntl(reader, F_SETFL, O_NONBLOCK))
		return -errno;
	*pid = fork();
	if (*pid < 0)
		return -errno;
	if (!*pid)
		become(engine, script, target, parent, writer, messages);
	*output = take_fd(reader);
	return 0;
}
