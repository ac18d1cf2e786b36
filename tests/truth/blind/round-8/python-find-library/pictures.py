"""PORT LOOK: looks for a library that makes pictures faster, once or for each request."""

import ctypes.util
import sys

from server import serve

fast = ctypes.util.find_library("vips-fast")


def answer(_):
    library = ctypes.util.find_library("vips-fast") if sys.argv[2] == "always" else fast
    sum(value * value for value in range(1000 if library else 5000))


serve(int(sys.argv[1]), answer)
