// SPDX-License-Identifier: GPL-2.0-only
/* The command line of the recorder. */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "window/interval.h"
#include "recorder.h"

static const char usage[] =
	"Usage: perfdiag-recorder --pid PID [OPTION]...\n"
	"Records where the time of a process's threads goes; the recording goes to standard output.\n\n"
	"  --pid PID          follow this process (repeatable)\n"
	"  --host             follow all tasks of the host, kernel threads too\n"
	"  --only             not its descendants\n"
	"  --duration SECONDS end after so long; 0: until SIGINT or SIGTERM (default 10)\n"
	"  --interval MS      between snapshots (default 250)\n"
	"  --patience MS      for files about the host that hang, at each end (default 1000)\n"
	"  --stacks           keep a stack of every wait\n"
	"  --slo [NAME=]NS    time requests, and system calls as operations, those over NS with their ledger;\n"
	"                     or those of one name: \"GET /upload\", syscall:fdatasync (repeatable)\n"
	"  --no-request-names keep none, tell requests by port; and no statements that are sent\n"
	"  --max-cost PERCENT what the programs may take of the target's CPU time; they are thinned to keep it\n"
	"  --no-apps          read nothing of Java virtual machines and SQL servers\n"
	"  --control FD       take orders from this socket\n"
	"  --script FILE      let this script record\n"
	"  --engine NAME      let the script record that is for bpftrace\n"
	"  --scripts DIR      where it lies below\n"
	"  --check            load and attach everything, write the header, exit\n"
	"  --version\n";

#define LARGEST_NS 9e18 /* what fits into 63 bits */

static int parse_number(const char *option, const char *text, double largest, double *ret)
{
	char *end;

	*ret = strtod(text, &end);
	if (!*text || *end || !(*ret >= 0 && *ret <= largest)) { /* so written, it refuses what is no number */
		fprintf(stderr, "error: --%s takes a number, not '%s'\n", option, text);
		return -EINVAL;
	}
	return 0;
}

static int add_target(struct options *options, const char *text)
{
	double pid;

	if (parse_number("pid", text, INT32_MAX, &pid))
		return -EINVAL;
	if (pid < 1 || pid != (int32_t)pid || options->pid_count == MAX_TARGETS) {
		fprintf(stderr, "error: --pid takes the number of a process, at most %d times\n", MAX_TARGETS);
		return -EINVAL;
	}
	options->pids[options->pid_count++] = pid;
	return 0;
}

static int take_max_cost(struct options *options, const char *text)
{
	double percent;

	if (parse_number("max-cost", text, 100, &percent))
		return -EINVAL;
	options->has_max_cost = true;
	options->max_cost_ppm = percent * 10000 + 0.5;
	return 0;
}

static int add_limit(struct options *options, char *text)
{
	char *equals = strrchr(text, '=');
	double ns;

	if (parse_number("slo", equals ? equals + 1 : text, LARGEST_NS, &ns))
		return -EINVAL;
	if (equals) {
		*equals = 0;
		return limits_add(options, text, ns);
	}
	options->slo_ns = ns;
	return 0;
}

enum {
	OPTION_PID,
	OPTION_ONLY,
	OPTION_HOST,
	OPTION_DURATION,
	OPTION_INTERVAL,
	OPTION_STACKS,
	OPTION_SLO,
	OPTION_NO_REQUEST_NAMES,
	OPTION_NO_APPS,
	OPTION_MAX_COST,
	OPTION_CONTROL,
	OPTION_SCRIPT,
	OPTION_SCRIPTS,
	OPTION_ENGINE,
	OPTION_CHECK,
	OPTION_PATIENCE,
	OPTION_VERSION,
	OPTION_HELP
};

int options_parse(struct recorder *recorder, int argc, char **argv)
{
	static const struct option long_options[] = { { "pid", required_argument, NULL, OPTION_PID },
						      { "only", no_argument, NULL, OPTION_ONLY },
						      { "host", no_argument, NULL, OPTION_HOST },
						      { "duration", required_argument, NULL, OPTION_DURATION },
						      { "interval", required_argument, NULL, OPTION_INTERVAL },
						      { "patience", required_argument, NULL, OPTION_PATIENCE },
						      { "stacks", no_argument, NULL, OPTION_STACKS },
						      { "slo", required_argument, NULL, OPTION_SLO },
						      { "no-request-names", no_argument, NULL,
							OPTION_NO_REQUEST_NAMES },
						      { "no-apps", no_argument, NULL, OPTION_NO_APPS },
						      { "max-cost", required_argument, NULL, OPTION_MAX_COST },
						      { "control", required_argument, NULL, OPTION_CONTROL },
						      { "script", required_argument, NULL, OPTION_SCRIPT },
						      { "scripts", required_argument, NULL, OPTION_SCRIPTS },
						      { "engine", required_argument, NULL, OPTION_ENGINE },
						      { "check", no_argument, NULL, OPTION_CHECK },
						      { "version", no_argument, NULL, OPTION_VERSION },
						      { "help", no_argument, NULL, OPTION_HELP },
						      {} };
	struct options *options = &recorder->options;
	double number = 0;
	int option, err = 0;

	*options = (struct options){ .duration_ns = 10 * NS_PER_SECOND,
				     .interval_ns = NS_PER_SECOND / 4,
				     .patience_ms = FACTS_DEADLINE_MS,
				     .control_fd = -1 };
	while (!err && (option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		const double largest = option == OPTION_DURATION   ? LARGEST_NS / NS_PER_SECOND
				       : option == OPTION_INTERVAL ? LARGEST_NS / 1000000
				       : option == OPTION_PATIENCE ? INT32_MAX
				       : option == OPTION_CONTROL  ? INT32_MAX
								   : 0;

		if (largest)
			err = parse_number(long_options[option].name, optarg, largest, &number);
		if (err)
			break;
		switch (option) {
		case OPTION_PID: err = add_target(options, optarg); break;
		case OPTION_ONLY: options->only = true; break;
		case OPTION_HOST: options->host = true; break;
		case OPTION_DURATION: options->duration_ns = number * NS_PER_SECOND; break;
		case OPTION_INTERVAL: options->interval_ns = (number < 10 ? 10 : number) * 1000000; break;
		case OPTION_PATIENCE: options->patience_ms = number; break;
		case OPTION_STACKS: options->stacks = true; break;
		case OPTION_SLO: err = add_limit(options, optarg); break;
		case OPTION_NO_REQUEST_NAMES: options->no_request_names = true; break;
		case OPTION_NO_APPS: options->no_apps = true; break;
		case OPTION_MAX_COST: err = take_max_cost(options, optarg); break;
		case OPTION_CONTROL: options->control_fd = number; break;
		case OPTION_SCRIPT: options->script = optarg; break;
		case OPTION_SCRIPTS: options->scripts = optarg; break;
		case OPTION_ENGINE: options->engine = optarg; break;
		case OPTION_CHECK: options->check = true; break;
		case OPTION_VERSION: puts("perfdiag-recorder " PERFDIAG_VERSION); return 1;
		case OPTION_HELP: fputs(usage, stdout); return 1;
		default: err = -EINVAL;
		}
	}
	if (!err && options->host && options->pid_count) {
		fprintf(stderr, "error: --host follows all, --pid one: give one of them\n");
		err = -EINVAL;
	}
	if (!err &&
	    (optind < argc || (!options->host && !options->pid_count && options->control_fd < 0 && !options->check))) {
		fprintf(stderr, "error: no --pid to follow\n%s", usage);
		err = -EINVAL;
	}
	return err;
}
