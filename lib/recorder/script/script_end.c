// SPDX-License-Identifier: GPL-2.0-only
/* The end of an engine: it is waited for, and was as it should be, or is explained. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/oom_kills.h"
#include "script/engine.h"
#include "script/script.h"

#define END_MS 10000 /* to end takes less for who has closed its output; then it is killed */
#define KILL_MS 5000 /* to die takes less, but for who waits in the kernel and cannot be interrupted */

/* The last of what it said that is not about locked memory, which it does not need. */
static const char *last_error(const struct script *script)
{
	static char last[300];
	char line[sizeof(last)];

	last[0] = 0;
	rewind(script->messages);
	while (fgets(line, sizeof(line), script->messages))
		if (strcasestr(line, script->engine->complains) && !strstr(line, "RLIMIT_MEMLOCK"))
			memcpy(last, line, sizeof(last));
	last[strcspn(last, "\n")] = 0;
	if (!*last)
		return "it did not say why";
	return strncasecmp(last, "error: ", 7) ? last : last + 7;
}

static int explain_killed(const struct script *script, struct lack *lack, int number)
{
	if (number == SIGKILL && oom_kills() > script->kills)
		return lack_of(lack, -EIO, "give it 200 MiB of room, also in its control group",
			       "%s was killed: memory is short, and the kernel's OOM killer took it",
			       script->engine->name);
	if (script->begun)
		return lack_of(lack, -EIO, "", "%s was killed by signal %d", script->engine->name, number);
	return lack_of(lack, -EIO,
		       "if it was the OOM killer (see dmesg): give it 200 MiB of room, also in its control group",
		       "%s was killed by signal %d before the window began: %s", script->engine->name, number,
		       last_error(script));
}

int script_check_end(const struct script *script, struct recorder *recorder, int status)
{
	struct pollfd target = { .fd = script->target, .events = POLLIN };
	struct lack *lack = &recorder->lack;

	if (script->told_ns && !script->begun && !strcmp(recorder->reason, "signal"))
		return lack_of(lack, -EINTR, "", "it was told to end before %s traced anything", script->engine->name);
	if (script->told_ns && !script->begun)
		return lack_of(lack, -ESRCH, "", "the process ended before %s traced anything", script->engine->name);
	if (WIFSIGNALED(status))
		return explain_killed(script, lack, WTERMSIG(status));
	if (script->told_ns)
		return 0;
	if (!script->begun)
		return lack_of(lack, -EIO, script->engine->needs, "%s does not trace: %s", script->engine->name,
			       last_error(script));
	if (!status && poll(&target, 1, 0) > 0) {
		recorder->reason = "targets gone";
		return 0;
	}
	return lack_of(lack, -EIO, "", "%s ended in the middle of the window, with status %d", script->engine->name,
		       WEXITSTATUS(status));
}

int script_reap(const struct script *script, struct lack *lack, int err, int *status)
{
	_cleanup_close_ int engine = syscall(SYS_pidfd_open, script->pid, 0);
	struct pollfd end = { .fd = engine, .events = POLLIN };
	bool late = !err && poll(&end, 1, END_MS) <= 0;

	if (err || late) {
		kill(script->pid, SIGKILL);
		if (poll(&end, 1, KILL_MS) <= 0)
			return lack_of(lack, -ETIMEDOUT,
				       "cat /proc/PID/wchan shows where: a file system that does not answer?",
				       "%s (%d) was killed, and has not ended for %d s: it waits in the kernel",
				       script->engine->name, script->pid, KILL_MS / 1000);
	}
	waitpid(script->pid, status, 0);
	if (late && WIFSIGNALED(*status) && WTERMSIG(*status) == SIGKILL)
		return lack_of(lack, -ETIMEDOUT, "see whether it runs by hand, or record with another --engine",
			       "%s closed its output, and has not ended for %d s", script->engine->name, END_MS / 1000);
	return err;
}
