/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits (ulimit) so low that perfdiag would fail with a misleading message, or with none. */
#pragma once
#include <stdbool.h>

/* Returns 0, or -1 and has said which limit, and what to do. */
int check_resource_limits(bool with_recorder);
