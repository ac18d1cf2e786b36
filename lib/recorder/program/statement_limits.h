/* SPDX-License-Identifier: GPL-2.0-only */
/* How long SQL statements of one digest may take. */
#pragma once
#include "recorder.h"

/* Makes it the limit of a statement if that is what was typed, with literals or without. */
bool statement_limit_name(const char *typed, struct limit *limit);
int statement_limit_set(struct recorder *recorder, const struct limit *limit);
