/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Applications in the target that tell more than system calls do.  Recognised without restart, agent or credentials; what
 * cannot be read costs this feature, never the recording.
 */
#pragma once
#include "recorder.h"

void apps_begin(struct recorder *recorder);		/* before the first program is attached */
void apps_meet(struct recorder *recorder, pid_t pid);	/* it became another program, or joined */
void apps_forget(struct recorder *recorder, pid_t pid); /* it has ended */
void apps_write(struct recorder *recorder);		/* what was recognised, and what it told of itself */
