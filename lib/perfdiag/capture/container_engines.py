"""Ask container engines for the id of a name, through their command line, without a shell, with a deadline."""

import os
import re
import shutil
import subprocess

from perfdiag.common import privileges

DEADLINE_S = 2.0
NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]*"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # never the caller's: this runs as root
ENVIRONMENT = ("HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST", "CONTAINER_HOST", "CONTAINER_RUNTIME_ENDPOINT")


def ids(name: str) -> set[str]:
    """Return the full ids of the containers called `name`; empty when no engine knows or answers."""
    if not re.fullmatch(NAME, name):
        return set()
    inspect = ["inspect", "--type", "container", "--format", "{{.Id}}", name]
    questions = {
        "docker": inspect,
        "podman": inspect,
        "crictl": ["ps", "--quiet", "--no-trunc", "--name", f"^{re.escape(name)}$"],
    }
    found: set[str] = set()
    for engine, arguments in questions.items():
        if program := shutil.which(engine, path=PATH):
            found |= set(re.findall(r"^[0-9a-f]{64}$", _answer([program, *arguments]), re.MULTILINE))
    return found


def names() -> set[str]:
    """Return the names of running containers; empty if no engine knows or answers."""
    found: set[str] = set()
    for engine in ("docker", "podman"):
        if program := shutil.which(engine, path=PATH):
            found |= set(re.findall(rf"^{NAME}$", _answer([program, "ps", "--format", "{{.Names}}"]), re.MULTILINE))
    return found


def _answer(command: list[str]) -> str:
    """Return what a command prints, "" when it fails or takes too long."""
    # Of root's own only: where they lead to is what an engine takes its settings, and programs to run, from.
    own = {} if privileges.invoking_user() else {key: os.environ[key] for key in ENVIRONMENT if key in os.environ}
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=DEADLINE_S,
            env=own | {"PATH": PATH, "LC_ALL": "C"},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("ascii", "replace")
