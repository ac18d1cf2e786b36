"""service.py PORT: says which groups a user is in, for whoever asks whether a file may be read."""

import os
import pwd
import sys

from server import serve


def page(path: str) -> None:
    """Ask the host."""
    user = pwd.getpwnam("anna")
    assert len(os.getgrouplist(user.pw_name, user.pw_gid)) == 3


serve(int(sys.argv[1]), page)
