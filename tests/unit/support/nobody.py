"""Run something of this checkout as somebody who may not enter the folders above it: homes are 0700 on Debian 12."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence

from conftest import ROOT

# In a mount namespace of its own, so that the mount goes with the command.
_SCRIPT = """
mount --bind "$1" "$2"
cd "$2"
shift 2
exec setpriv --reuid nobody --regid nogroup --clear-groups "$@"
"""


def run_as_nobody(*words: object, capabilities: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """Run a command as `nobody`, or as who runs the tests if that is not root; paths are those of this checkout.

    It has these ambient capabilities, as setpriv(1) calls them, and may not have others.
    """
    command = [str(word) for word in words]
    if os.geteuid() != 0:
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        command = [word.replace(str(ROOT), folder) for word in command]
        if capabilities:
            only = ",".join(["-all", *(f"+{name}" for name in capabilities)])
            command = ["--inh-caps", only, "--ambient-caps", only, "--bounding-set", only, *command]
        command = ["unshare", "--mount", "sh", "-ec", _SCRIPT, "sh", str(ROOT), folder, *command]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    run.stderr = run.stderr.replace(folder, str(ROOT))
    return run


__all__ = ["run_as_nobody"]
