"""Root is needed to find the target; then it is given up, for good.

Perfdiag never opens a path given by the caller as root: the process that opens it becomes the caller first.
"""

import ctypes
import os
import pwd
import re
from pathlib import Path

from perfdiag.common.errors import PerfdiagError

NOBODY = 65534
UNCHANGED = 2**32 - 1  # as (uid_t)-1, it would leave root as it is
ID = re.compile("[0-9]{1,10}")
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
CAPABILITY_VERSION = 0x20080522  # _LINUX_CAPABILITY_VERSION_3 of include/uapi/linux/capability.h: two words of each set
UID_MAP = Path("/proc/self/uid_map")
LONE_ROOT = re.compile(r" *0 +[1-9][0-9]* +1\n")  # inside, outside, how many
_libc = ctypes.CDLL(None, use_errno=True)


def invoking_user() -> tuple[int, int] | None:
    """Return uid and gid of the user behind sudo, None if there is none (or it is root).

    The environment counts only if the process is root in every respect: otherwise, as with a set-user-id file, it may
    contain any name. Raises PerfdiagError if it names an impossible user, because ignoring it would leave root to them.
    """
    texts = [os.environ.get(name) for name in ("SUDO_UID", "SUDO_GID")]
    if os.getresuid() != (0, 0, 0) or texts == [None, None]:
        return None
    uid, gid = (int(text) if text and ID.fullmatch(text) else UNCHANGED for text in texts)
    if uid >= UNCHANGED or gid >= UNCHANGED:
        raise PerfdiagError(
            "SUDO_UID and SUDO_GID name no user and group", "sudo sets both: unset them, or set them to numbers"
        )
    return (uid, gid) if uid else None


def home_of_caller() -> str:
    """Return the home directory of the user behind sudo, which sets HOME to root's; without sudo, what HOME says.

    "" if there is none. Looking it up may take time.
    """
    user = invoking_user()
    if user is None:
        return os.environ.get("HOME", "")
    try:
        return pwd.getpwuid(user[0]).pw_dir
    except KeyError:
        return ""


def become_caller() -> None:
    """Become the user behind sudo, with their groups and home, and with no way back; without sudo, root stays root.

    Looking up the groups may take time. Raises PerfdiagError if root cannot be given up.
    """
    if user := invoking_user():
        uid, gid = user
        os.environ["HOME"] = home_of_caller()
        name = os.environ.get("SUDO_USER", "")
        known = not any(0xDC80 <= ord(character) <= 0xDCFF for character in name)  # else of no user: nothing finds it
        _become(uid, gid, os.getgrouplist(name, gid) if known else [gid])


def drop() -> None:
    """Become the user behind sudo, else nobody, with no way back; does nothing without root.

    Everything needed later must be open and imported. Raises PerfdiagError if root cannot be given up.
    """
    if os.geteuid() == 0 and is_alone():
        _give_up_capabilities()
    elif os.geteuid() == 0:
        uid, gid = invoking_user() or (NOBODY, NOBODY)
        _become(uid, gid, [])
    if _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise PerfdiagError(f"cannot exclude new privileges: {os.strerror(ctypes.get_errno())}")


def is_alone() -> bool:
    """Return whether root is the only user of this user namespace (unshare -r, rootless containers), and an ordinary
    one outside: then there is nobody else to become."""
    try:
        found = LONE_ROOT.fullmatch(UID_MAP.read_text(encoding="ascii"))
    except OSError:
        return False
    return found is not None


def set_aside() -> None:
    """Act as nobody until `take_up`: root may use space in file systems that is reserved for others."""
    if os.geteuid() == 0 and not is_alone():
        os.seteuid(NOBODY)


def take_up() -> None:
    """Act as root again, if it was set aside."""
    if os.getuid() == 0:
        os.seteuid(0)


def _give_up_capabilities() -> None:
    """Keep none of root's in this user namespace. Raises PerfdiagError if they cannot be given up."""
    header, none = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()
    if _libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) or _libc.capset(header, none):
        raise PerfdiagError(f"cannot give up capabilities: {os.strerror(ctypes.get_errno())}")


def _become(uid: int, gid: int, groups: list[int]) -> None:
    try:
        os.setgroups(groups)
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    except OSError as error:
        raise PerfdiagError(
            f"cannot give up root for uid {uid}: {error.strerror}",
            "give it CAP_SETUID and CAP_SETGID; where a container maps only its own users, run perfdiag on its host",
        ) from error
