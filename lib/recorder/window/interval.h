/* SPDX-License-Identifier: GPL-2.0-only */
/* What is done at each interval, and when the next one is due. */
#pragma once
#include "recorder.h"

#define FACTS_DEADLINE_MS 1000
#define NAMES_DEADLINE_MS 1000

void interval_begin(struct recorder *recorder);
/* One interval; *next is when the next one is due, UINT64_MAX: not before the target runs.  0 or -errno. */
int interval_take(struct recorder *recorder, uint64_t *next);
/* When the next one is due after EVENT_AWAKE. */
uint64_t interval_awake(struct recorder *recorder, uint64_t next);
/* When the threads of processes that joined may be looked for, UINT64_MAX: none did. */
uint64_t interval_sweep_due(const struct recorder *recorder);
/* Looks for them.  0 or -errno. */
int interval_sweep(struct recorder *recorder);
