/* SPDX-License-Identifier: GPL-2.0-only */
/* What the two sides of user_symbols_resolve() say to each other. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct user_address;

#define LONGEST_SYMBOL_NAME 512
#define LONGEST_MODULE_NAME 100

/* In the pipe: this, then length bytes of text. */
struct symbol_record {
	uint32_t index;		    /* of an address, or one of these: */
#define INDEX_READS UINT32_MAX	    /* the text is the file that is read next */
#define INDEX_DONE (UINT32_MAX - 1) /* that was all */
	uint32_t lack;
	uint32_t length;
};

/* Confines this process for good to what the second half of symbols_child() needs.  0 or -errno. */
int symbols_filter(int results_fd);
/*
 * Gives up all privileges, and does that.  From there on a hostile ELF file that breaks libelf or liblzma gains the
 * descriptors opened so far, and what symbols_filter.c lets it do with them.
 */
void symbols_confine(int results_fd, unsigned int deadline_ms);
_Noreturn void symbols_child(const struct user_address *addresses, size_t count, int results_fd,
			     unsigned int deadline_ms);
