"""3,000 commits to 40 files, some of which have not been touched for long."""

import random

random.seed(22)
for number in range(3000):
    file = min(39, int(random.expovariate(1 / 6))) if number >= 200 else number % 40
    text = f"{number}\n" * 50
    print(f"commit refs/heads/main\ncommitter Ann <ann@shop.example> {1700000000 + number * 600} +0000")
    message = f"change {number}"
    print(f"data {len(message)}\n{message}\nM 644 inline file-{file}.txt\ndata {len(text)}\n{text}")
