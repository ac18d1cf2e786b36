"""Servers that Debian 12 does not have, in a root of their own: build/lab/servers, from tests/lab/servers.txt."""

from __future__ import annotations

from pathlib import Path

import pytest

from live.support.workload import ROOT

SERVERS = ROOT / "build" / "lab" / "servers"
# A mount namespace of its own, as a container has; its mounts go with it.
_ENTER = 'mount -t proc none "$1/proc" && mount --bind "$2" "$1/mnt" && shift 2 && exec chroot "$@"'


def entered(folder: Path) -> list[str]:
    """Return what runs a command in there, ahead of its words; `folder` is its /mnt."""
    return ["unshare", "--mount", "sh", "-c", _ENTER, "sh", str(SERVERS), str(folder), str(SERVERS)]


def need_server(program: str) -> None:
    """Skip where it is not there: a path in that root."""
    if not (SERVERS / program).exists():
        why = SERVERS.with_suffix(".missing")
        said = why.read_text().strip() if why.exists() else "make lab-build KERNEL=servers"
        pytest.skip(f"no {program}: {said}")


__all__ = ["SERVERS", "entered", "need_server"]
