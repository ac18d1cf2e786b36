"""Thirty-six kilobytes of measurements as JSON."""

import json
import random

random.seed(1)
print(json.dumps([random.choice([0, 0, 0, 1, 1, 2]) for _ in range(12_000)]))
