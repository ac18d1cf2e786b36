"""sensors.py PIPE...: writes a value to each of the pipes every 600 ms, one after the other."""

import sys
import time

pipes = [open(name, "w", buffering=1) for name in sys.argv[1:]]  # noqa: SIM115 (until it is ended)
while True:
    for pipe in pipes:
        time.sleep(0.6 / len(pipes))
        pipe.write(f"{time.time():.1f} 21.5\n")
