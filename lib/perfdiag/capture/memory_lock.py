"""Stay in memory: on a host without any, a report whose pages were taken meanwhile takes half a minute to begin."""

from __future__ import annotations

import contextlib
import ctypes

MCL_CURRENT, MCL_ONFAULT = 1, 4
_libc = ctypes.CDLL(None)


def stay() -> None:
    """Keep the pages there are, and those of the same mappings as they come; does nothing for who may not.

    Later mappings are not kept.  Nor is the stack: after root is given up a stack that is kept cannot grow.
    """
    with contextlib.suppress(OSError, ValueError), open("/proc/self/maps", errors="surrogateescape") as maps:
        (stack,) = [line.split(" ", 1)[0] for line in maps if line.endswith(" [stack]\n")]
        begin, end = (int(address, 16) for address in stack.split("-"))
        if not _libc.mlockall(MCL_CURRENT | MCL_ONFAULT):
            _libc.munlock(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin))


__all__ = ["stay"]
