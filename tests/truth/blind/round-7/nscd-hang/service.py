"""PORT: runs a script for each request, which asks who it is."""

import subprocess
import sys

from server import serve

serve(int(sys.argv[1]), lambda _: subprocess.run(["id", "-un"], stdout=subprocess.DEVNULL, check=True))
