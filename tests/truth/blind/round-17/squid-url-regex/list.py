"""list.py KIND: thirteen thousand sites that nobody may visit, as domains or as regular expressions for a whole URL."""

import sys

for number in range(13000):
    if sys.argv[1] == "dstdomain":
        print(f".tracker{number}.example.net")
    else:
        print(f"^https?://([a-z0-9-]+\\.)*tracker{number}\\.example\\.net[:/]")
