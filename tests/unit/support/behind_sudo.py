"""Root with a user behind sudo, as this process or as perfdiag's environment; and mounts that go with the test."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

USER, GROUP, OTHER_GROUP = 1234, 4321, 5432
NAME = "perfdiag-user"
ENVIRONMENT = {"SUDO_UID": str(USER), "SUDO_GID": str(GROUP), "SUDO_USER": NAME}


@contextmanager
def instead_of(path: str, content: str, folder: Path) -> Iterator[Path]:
    """Let a file of the system have other content for this process and its children (conftest.py: no others).

    Yields the file that stands there instead.
    """
    other = folder / path.replace("/", "-")
    other.write_text(content)
    other.chmod(Path(path).stat().st_mode & 0o777)
    subprocess.run(["mount", "--bind", other, path], check=True)
    try:
        yield other
    finally:
        subprocess.run(["umount", path], check=True)


@contextmanager
def in_group(folder: Path) -> Iterator[None]:
    """Let the user be in one more group."""
    groups = Path("/etc/group").read_text()
    with instead_of("/etc/group", f"{groups}perfdiag-group:x:{OTHER_GROUP}:{NAME}\n", folder):
        yield


__all__ = ["ENVIRONMENT", "GROUP", "NAME", "OTHER_GROUP", "USER", "in_group", "instead_of"]
