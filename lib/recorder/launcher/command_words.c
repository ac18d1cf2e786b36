// SPDX-License-Identifier: GPL-2.0-only
/* What the words of a command ask for, as far as the launcher has to know before Python reads them. */
#include "launcher/command_words.h"
#include <stdlib.h>
#include <string.h>

static bool is_flag(const char *word)
{
	static const char *const flags[] = { "--only",	    "--stacks", "--no-request-names",
					     "--no-apps",   "--json",	"--full",
					     "--exit-code", "--quiet",	"-q" };

	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (!strcmp(word, flags[i]))
			return true;
	return false;
}

/* Of short options in one word ("-qo") the first that takes a value has the rest of the word, or else the next one. */
static bool ends_in_short_option(const char *word)
{
	size_t flags = strspn(word + 1, "q");

	return word[1 + flags] && strchr("odp", word[1 + flags]) && !word[2 + flags];
}

/* An option whose value is the next word, whatever that looks like. */
static bool takes_next(const char *word)
{
	if (strncmp(word, "--", 2))
		return *word == '-' && ends_in_short_option(word);
	return !strchr(word, '=') && !is_flag(word);
}

const char *option_value(char **argv, const char *option)
{
	size_t length = strlen(option);
	const char *value = NULL;

	for (; *argv && strcmp(*argv, "--"); argv++) {
		if (!strncmp(*argv, option, length) && (!(*argv)[length] || (*argv)[length] == '='))
			value = (*argv)[length] ? *argv + length + 1 : argv[1] ?: "";
		if (takes_next(*argv) && argv[1])
			argv++;
	}
	return value;
}

bool has_option(char **argv, const char *option)
{
	return option_value(argv, option);
}

bool needs_recorder(int argc, char **argv)
{
	if (argc < 2 || getenv("_PERFDIAG_COMPLETE"))
		return false;
	if (strcmp(argv[1], "latency") && strcmp(argv[1], "host") && strcmp(argv[1], "record") &&
	    strcmp(argv[1], "check"))
		return false;
	if (has_option(argv + 2, "--help") || has_option(argv + 2, "-h"))
		return false;
	return strcmp(argv[1], "host") || !has_option(argv + 2, "--since"); /* it is over: nothing is recorded */
}
