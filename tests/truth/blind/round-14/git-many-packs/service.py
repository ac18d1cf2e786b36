"""service.py PORT REPOSITORY: tells how many objects a repository has, for each request, by git."""

import subprocess
import sys

from server import serve

port, repository = int(sys.argv[1]), sys.argv[2]


def count(path):
    words = ["git", "-C", repository, "rev-list", "--objects", "--count", "--all"]
    subprocess.run(words, check=True, capture_output=True)


serve(port, count)
