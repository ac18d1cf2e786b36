"""Four processes that nobody waits for, of which one is away for a moment each second."""

import subprocess
import time

for _ in range(3):
    subprocess.Popen(["sleep", "1000"])
while True:
    subprocess.run(["sleep", "1"], check=False)
    time.sleep(0.12)
