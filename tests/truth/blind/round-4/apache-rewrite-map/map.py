"""MS: a program of RewriteMap, which looks every key up in a directory that takes MS milliseconds."""

import sys
import time

for key in sys.stdin:
    time.sleep(float(sys.argv[1]) / 1000)
    print(f"/{key.strip()}.html", flush=True)
