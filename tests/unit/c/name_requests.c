// SPDX-License-Identifier: GPL-2.0-only
/* No test but a tool of tests.  Prints what a request is called, of each line of standard input: with the bytes of the head, as the programs do it. */
#include <stdio.h>
#include <string.h>
#include <linux/types.h>
#include "core/records.h"
#include "request/name_rules.h"

#define HEAD " HTTP/1.1\r\nHost: localhost\r\n\r\n"

int main(void)
{
	char line[1024], request[sizeof(line) + sizeof(HEAD)];

	while (fgets(line, sizeof(line), stdin)) {
		struct naming naming = {};

		line[strcspn(line, "\n")] = 0;
		naming.bytes = snprintf(request, sizeof(request), "%s%s", line, HEAD);
		memcpy(naming.text, request, naming.bytes < REQUEST_BYTES ? naming.bytes : REQUEST_BYTES);
		if (begin_name(&naming, 1))
			for (__u32 i = 0; i < REQUEST_BYTES && !name_letter(i, &naming); i++)
				;
		end_name(&naming, 1);
		printf("%.*s\n", (int)naming.length, naming.name.request.text);
	}
	return 0;
}
