"""PORT LIBRARY: has a report made by another Python for each request."""

import pathlib
import subprocess
import sys

from server import serve

REPORT = pathlib.Path(__file__).with_name("report.py")
serve(int(sys.argv[1]), lambda _: subprocess.run(["/usr/bin/python3", "-I", "-B", REPORT, sys.argv[2]], check=True))
