/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* How often the OOM killer has struck on this host, control groups included; 0 when nobody says. */
unsigned long oom_kills(void);
