"""Lock our pages, so that reports start under memory pressure."""

import contextlib
import ctypes

MCL_CURRENT, MCL_ONFAULT = 1, 4
_libc = ctypes.CDLL(None)


def stay() -> None:
    """Lock the present pages, and those of the same mappings as they appear; does nothing without the right.

    Later mappings are not locked. Nor is the stack: once root is given up, a locked stack cannot grow.
    """
    with contextlib.suppress(OSError, ValueError), open("/proc/self/maps", errors="surrogateescape") as maps:
        (stack,) = [line.split(" ", 1)[0] for line in maps if line.endswith(" [stack]\n")]
        begin, end = (int(address, 16) for address in stack.split("-"))
        if not _libc.mlockall(MCL_CURRENT | MCL_ONFAULT):
            _libc.munlock(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin))
