"""PORT LOADER FILE: reads its rules for every request."""

import sys

import yaml
from server import serve

rules = [
    {"name": f"rule-{n}", "when": {"host": f"web-{n}", "above": n * 1.5}, "tell": ["ops", "mail"]} for n in range(200)
]
with open(sys.argv[3], "w", encoding="ascii") as file:
    yaml.dump(rules, file)


def answer(_):
    with open(sys.argv[3], encoding="ascii") as file:
        yaml.load(file, Loader=getattr(yaml, sys.argv[2]))


serve(int(sys.argv[1]), answer)
