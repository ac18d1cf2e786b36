"""Exports records to a volume of its own, which takes 4 MB a second: 300 KB ten times a second."""

import itertools
import time

text = bytes(range(256)) * 1200
for number in itertools.count():
    with open(f"export/{number % 64}", "wb", buffering=0) as file:
        file.write(text)
    time.sleep(0.1)
