// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>
#include "rows/folds.h"

static struct fold_entry *find(struct fold_entry *folds, const char comm[COMM_BYTES])
{
	struct fold_entry *entry;

	HASH_FIND(hh, folds, comm, COMM_BYTES, entry);
	return entry;
}

struct fold_entry *fold_of_name(struct fold_entry **folds, const char comm[COMM_BYTES], size_t most)
{
	static const char others[COMM_BYTES] = FOLD_OTHERS;
	struct fold_entry *entry = find(*folds, comm);

	if (!entry && HASH_COUNT(*folds) >= most) {
		comm = others;
		entry = find(*folds, comm);
	}
	if (entry)
		return entry;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	memcpy(entry->comm, comm, COMM_BYTES);
	HASH_ADD(hh, *folds, comm, COMM_BYTES, entry);
	return entry;
}

void fold_free(struct fold_entry **folds, struct fold_entry *entry)
{
	HASH_DEL(*folds, entry);
	free(entry);
}
