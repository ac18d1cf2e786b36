"""service.py PORT TOOL: each request is done by a small tool, a program of its own."""

import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "support"))
from server import serve

TOOL = str(pathlib.Path(__file__).with_name(sys.argv[2]))


def work(path: str) -> None:
    subprocess.run(["/usr/bin/python3", TOOL], stdout=subprocess.DEVNULL, check=True)


serve(int(sys.argv[1]), work)
