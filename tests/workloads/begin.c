/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * begin - waits for its start as every workload does, and becomes another command then: begin --wait -- tar xf x.tar
 */
#include "workload.h"

int main(int argc, char **argv)
{
	bool wait = parse_options(argc, argv, (struct knob[]){ { NULL, NULL, NULL, NULL } });

	if (optind == argc) {
		fprintf(stderr, "%s: no command\n", program_invocation_short_name);
		return 2;
	}
	start_work(wait);
	execvp(argv[optind], argv + optind);
	die(argv[optind]);
}
