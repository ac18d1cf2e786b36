/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of functions from the table that Go keeps for its own use in each program (.gopclntab). */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct go_table {
	const char *data;
	size_t bytes;
	uint64_t code;	/* address of the section of code */
	uint64_t entry; /* where the program begins */
};

typedef void symbol_taker(void *context, const char *symbol, uint64_t start, uint64_t size);

/* Calls take for each function; for none where it cannot read the table. */
void go_symbols_offer(const struct go_table *from, symbol_taker *take, void *context);
