/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads a catalog of prices every second, number by number: by sscanf(), as a game did, or by strtol(). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static long sum_of(const char *catalog, int by_sscanf)
{
	long sum = 0;

	for (const char *at = catalog; *at; at++) {
		long price = 0;

		if (by_sscanf) {
			sscanf(at, "%ld", &price);
			at = strchr(at, ',');
		} else {
			char *end;

			price = strtol(at, &end, 10);
			at = end;
		}
		sum += price;
	}
	return sum;
}

int main(int count, char **words)
{
	int numbers = count > 2 ? atoi(words[2]) : 0;
	char *catalog = malloc(numbers * 9 + 1), *end = catalog;
	struct timespec next;

	for (int number = 0; number < numbers; number++)
		end += sprintf(end, "%d,", 1000000 + number);
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (;;) {
		if (sum_of(catalog, !strcmp(words[1], "sscanf")) <= 0)
			return 1;
		next.tv_sec++;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
}
