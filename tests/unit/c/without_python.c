// SPDX-License-Identifier: GPL-2.0-only
/* What the launcher can do on a host without Python: which options it understands, and where a recording may go. */
/* SOURCES: launcher/out_of_memory.c launcher/find_python.c launcher/printable.c base/capabilities.c base/oom_kills.c */
#include "../../../lib/recorder/launcher/record_without_python.c"
#include "check.h"

static const char *lines[16][MOST_RECORDER_ARGUMENTS], **arguments = lines[0], *path; /* all stay: none is freed */

static const char *parse(char **words)
{
	arguments += MOST_RECORDER_ARGUMENTS;
	return recorder_arguments(words, arguments, &path);
}

static void options_become_those_of_the_recorder(void)
{
	static const char *const expected[] = {
		"perfdiag-recorder", "--pid",  "1",	   "--duration", "0.250000000", "--slo",
		"GET /a=5000000",    "--only", "--stacks", "--pid",	 "1",		NULL
	};
	char *words[] = { "-o",		"x.rec",  "--pid=1", "-d",	 "250ms", "--slo",
			  "GET /a=5ms", "--only", "--quiet", "--stacks", "-p1",	  NULL };

	CHECK(!parse(words));
	CHECK_TEXT(path, "x.rec");
	for (size_t i = 0; expected[i] && arguments[i]; i++)
		CHECK_TEXT(arguments[i], expected[i]);
	CHECK(!arguments[sizeof(expected) / sizeof(*expected) - 1]);
}

static void what_needs_python_is_named(void)
{
	char *words[] = { "-o", "x", "--name", "nginx", NULL };
	char *command[] = { "-o", "x", "--", "true", NULL };

	CHECK_TEXT(parse(words), "--name");
	CHECK_TEXT(parse(command), "--");
}

static void what_is_wrong_or_missing_is_refused(void)
{
	char *const refused[][6] = { { "-o", "x" },
				     { "--pid", "1" },
				     { "-o", "x", "--pid" },
				     { "-o", "", "--pid", "1" },
				     { "-o", "x", "-p1", "--duration=soon" },
				     { "-o", "x", "-p1", "--duration=1e9" },
				     { "-o", "x", "-p1", "--duration=-1" },
				     { "-o", "x", "-p1", "--slo=250" },
				     { "-o", "x", "-p1", "--slo=a=b=1ms" },
				     { "-o", "x", "-p", "1x" },
				     { "-o", "x", "-p", "" },
				     { "-o", "x", "-p", "4294967295" } };

	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		CHECK_TEXT(parse((char **)refused[i]) ?: "accepted", "");
}

static void a_recording_goes_into_a_file_of_the_callers_own(void)
{
	char folder[] = "/tmp/perfdiag-XXXXXX", file[64], linked[64], twice[64];
	struct stat status;
	int fd;

	CHECK(!!mkdtemp(folder));
	snprintf(file, sizeof(file), "%s/file", folder);
	snprintf(linked, sizeof(linked), "%s/linked", folder);
	snprintf(twice, sizeof(twice), "%s/twice", folder);
	fd = open_recording(file);
	CHECK(fd >= 0 && !fstat(fd, &status) && (status.st_mode & 07777) == 0600);
	CHECK(write(fd, "x", 1) == 1 && !close(fd));
	fd = open_recording(file);
	CHECK(fd >= 0 && !fstat(fd, &status) && !status.st_size && !close(fd));
	CHECK(!symlink(file, linked));
	CHECK(open_recording(linked) < 0);
	CHECK(!link(file, twice));
	CHECK_NUMBER(open_recording(file), -EEXIST);
	CHECK(open_recording("/dev/null") < 0);
	unlink(twice);
	unlink(linked);
	unlink(file);
	rmdir(folder);
}

int main(void)
{
	RUN(options_become_those_of_the_recorder);
	RUN(what_needs_python_is_named);
	RUN(what_is_wrong_or_missing_is_refused);
	RUN(a_recording_goes_into_a_file_of_the_callers_own);
	return check_result();
}
