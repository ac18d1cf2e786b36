"""make.py FOLDER: a repository whose last commit has moved 300 files to other names, and changed a line of each."""

import pathlib
import subprocess
import sys

repository = pathlib.Path(sys.argv[1]) / "repository"


def git(*words):
    subprocess.run(["git", "-C", repository, "-c", "user.name=x", "-c", "user.email=x@x", *words], check=True)


def lines(number):
    return [f"setting {number * 7919 % 1000 + line * number % 977} of part {number}\n" for line in range(160)]


repository.mkdir()
git("init", "--quiet")
for name, change in (("old", ""), ("new", "one more line\n")):
    git("rm", "--quiet", "--ignore-unmatch", "-r", "--cached", ".")
    for number in range(300):
        path = repository / f"{name}-place" / f"{name}{number * 31 % 300}.conf"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(lines(number)) + change)
    git("add", f"{name}-place")
    git("commit", "--quiet", "--message", name)
