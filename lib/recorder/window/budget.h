/* SPDX-License-Identifier: GPL-2.0-only */
/* Keeps what the programs take within a part of the target's CPU time (--max-cost): measured and decided each interval. */
#pragma once
#include "recorder.h"

void budget_begin(struct recorder *recorder);
/* After a snapshot: gives something up, if it has to. */
void budget_look(struct recorder *recorder);
/* After the last snapshot: the last step, whose effect nobody looked at, and what was taken since the last look. */
void budget_end(struct recorder *recorder);
/* In the footer's "cost": what the programs took since the last step, and of how much. */
void budget_write(struct recorder *recorder);
