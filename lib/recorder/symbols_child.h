/* SPDX-License-Identifier: GPL-2.0-only */
/* What the two sides of user_symbols_resolve() say to each other. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct user_address;

#define LONGEST_SYMBOL_NAME 512

/* In the pipe: this, then length bytes of name. */
struct symbol_record {
	uint32_t index;
	uint32_t length;
};

_Noreturn void symbols_child(const struct user_address *addresses, size_t count, int results_fd,
			     unsigned int deadline_ms);
