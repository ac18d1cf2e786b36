"""Root is needed to find the target and to open the recording's file; then it is given up, for good."""

from __future__ import annotations

import ctypes
import os

from perfdiag.errors import PerfdiagError

NOBODY = 65534
UNCHANGED = 2**32 - 1  # as (uid_t)-1, it would leave root as it is
PR_SET_NO_NEW_PRIVS = 38
_libc = ctypes.CDLL(None, use_errno=True)


def invoking_user() -> tuple[int, int] | None:
    """Return uid and gid of the user behind sudo, None when nobody is behind (or root itself)."""
    try:
        uid, gid = int(os.environ["SUDO_UID"]), int(os.environ["SUDO_GID"])
    except (KeyError, ValueError):
        return None
    return (uid, gid) if 0 < uid < UNCHANGED and 0 <= gid < UNCHANGED else None


def drop() -> None:
    """Become the user behind sudo, else nobody, with no way back; does nothing for who is not root.

    Everything needed later must be open and imported.  Raises PerfdiagError when root cannot be given up.
    """
    if os.geteuid() == 0:
        uid, gid = invoking_user() or (NOBODY, NOBODY)
        try:
            os.setgroups([])
            os.setresgid(gid, gid, gid)
            os.setresuid(uid, uid, uid)
        except OSError as error:
            raise PerfdiagError(
                f"cannot give up root for uid {uid}: {error.strerror}",
                "a container that maps only its own users cannot; run perfdiag on its host",
            ) from error
    if _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise PerfdiagError(f"cannot rule out new privileges: {os.strerror(ctypes.get_errno())}")


__all__ = ["drop", "invoking_user"]
