"""text.py BYTES: prints the rest of a JSON object of about that size, as orders of a shop are."""

import json
import random
import sys

random.seed(20)
WORDS = [
    "invoice",
    "street",
    "Hamburg",
    "delivered",
    "customer",
    "pending",
    "priority",
    "warehouse",
    "returned",
    "gift",
]
lines: list[dict[str, object]] = []
size = 0
while size < int(sys.argv[1]):
    line = {
        "sku": random.randrange(10**9),
        "note": " ".join(random.choices(WORDS, k=12)),
        "price": random.randrange(10**5),
    }
    lines.append(line)
    size += len(json.dumps(line)) + 2
print(json.dumps({"lines": lines})[1:])
