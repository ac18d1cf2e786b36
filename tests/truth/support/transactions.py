"""What pgbench has noted of every transaction, as `requests --log` would have: transactions.py LOG..."""

import fileinput
import sys

count = 0
with fileinput.input() as lines:
    for line in lines:
        # With --rate the time begins when it was due, and the lag is how late it was begun.
        _, _, waited_us, _, end_s, end_us, lag_us = line.split()
        if waited_us.isdigit():  # not skipped, nor failed
            end_ns = int(end_s) * 1_000_000_000 + int(end_us) * 1000
            print(end_ns - int(waited_us) * 1000, int(waited_us) * 1000, (int(waited_us) - int(lag_us)) * 1000)
            count += 1
sys.exit(0 if count else "no transaction has come to its end")
