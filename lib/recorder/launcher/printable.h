/* SPDX-License-Identifier: GPL-2.0-only */
/* Words of a command line, made fit for a terminal. */
#pragma once

/* With '?' for all that is no printable ASCII, and cut after 200 bytes; valid until the next call. */
const char *printable(const char *word);
