"""Runs tests of a network of many links: makes them, removes them, and begins anew; or waits, where there are none."""

import subprocess
import sys
import time

links = int(sys.argv[1])
batch = "".join(f"link add test{number} group 77 type dummy\n" for number in range(links))
until = time.monotonic() + 90
while time.monotonic() < until:
    if not links:
        time.sleep(0.5)
        continue
    subprocess.run(["ip", "-batch", "-"], input=batch, text=True, check=False)
    subprocess.run(["ip", "link", "set", "group", "77", "up"], check=False)
    subprocess.run(["ip", "link", "del", "group", "77"], check=False)
