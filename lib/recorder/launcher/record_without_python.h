/* SPDX-License-Identifier: GPL-2.0-only */
/* `perfdiag record` on a host without Python: the launcher opens the file and becomes the recorder. */
#pragma once

#define INSTALL_AGAIN "install perfdiag again, with all its files (apt install --reinstall, dnf reinstall)"

#define MOST_RECORDER_ARGUMENTS 256

/*
 * Fills `arguments` (MOST_RECORDER_ARGUMENTS, with NULL at the end) with what the recorder is to be given, and *path with
 * the file.  `words` are those behind "record".  Returns NULL, or the word that only Python understands; "" where an
 * option or a value is missing or wrong, which has been said.  The strings are those of `words`, or are never freed.
 */
const char *recorder_arguments(char **words, const char **arguments, const char **path);
/* Opens a recording as Python does: with the caller's rights, 0600, never through a link.  A descriptor, or -errno. */
int open_recording(const char *path);
/* Becomes the recorder, or says why not and returns an exit status.  `words` are those behind "record". */
int record_without_python(const char *recorder, char **words, const char *found);
