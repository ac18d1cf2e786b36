"""service.py PORT CONFIGURATION: asks a machine by ssh for its load, for each request."""

import subprocess
import sys

from server import serve

port, configuration = int(sys.argv[1]), sys.argv[2]


def ask(path):
    subprocess.run(["ssh", "-F", configuration, "machine", "cat /proc/loadavg"], check=True, capture_output=True)


serve(port, ask)
