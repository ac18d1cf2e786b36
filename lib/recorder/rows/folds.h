/* SPDX-License-Identifier: GPL-2.0-only */
/* Books that are kept by name alone: of threads that ended, and of processes without a line of their own. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <uthash.h>
#include "recorder.h"

#define FOLD_OTHERS "(others)" /* of more names than are told apart */

struct fold_entry {
	char comm[COMM_BYTES];
	bool has_process; /* of user space, not only threads of the kernel */
	struct fold fold;
	UT_hash_handle hh;
};

/*
 * The entry of a name, a new one where it has none yet, or, of more than `most` names, the one of all others.  NULL: no
 * memory.
 */
struct fold_entry *fold_of_name(struct fold_entry **folds, const char comm[COMM_BYTES], size_t most);
/* Takes an entry out. */
void fold_free(struct fold_entry **folds, struct fold_entry *entry);
