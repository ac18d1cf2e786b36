// SPDX-License-Identifier: GPL-2.0-only
/* No test but a tool of tests: takes strings (length as 4 bytes, then the bytes), answers each with a JSON line. */
/* SOURCES: output/json.c output/output.c */
#include <stdio.h>
#include <stdlib.h>
#include "output/json.h"
#include "output/output.h"

int main(void)
{
	struct output output = {};
	struct json j = {};
	uint32_t length;

	if (output_add(&output, 1, "stdout"))
		return 1;
	while (fread(&length, sizeof(length), 1, stdin) == 1) {
		char *bytes = malloc(length ? length : 1); /* no spare: reading beyond the end is noticed */

		if (!bytes || fread(bytes, 1, length, stdin) != length)
			return 1;
		json_open(&j, "bytes");
		json_bytes(&j, "value", bytes, length);
		if (json_write(&j, &output) || output_flush(&output))
			return 1;
		free(bytes);
	}
	json_free(&j);
	return output_close(&output);
}
