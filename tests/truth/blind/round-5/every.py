"""SECONDS COMMAND...: runs a job again and again with so long a pause between, as cron does."""

import subprocess
import sys
import time

while True:
    subprocess.run(sys.argv[2:], check=True)
    time.sleep(float(sys.argv[1]))
