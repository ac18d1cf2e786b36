"""PORT MEMORY FILE: says for each request how much memory the process has whose number is in the file."""

import pathlib
import sys

import psutil
from server import serve

serve(int(sys.argv[1]), lambda _: getattr(psutil.Process(int(pathlib.Path(sys.argv[3]).read_text())), sys.argv[2])())
