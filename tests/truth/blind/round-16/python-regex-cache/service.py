"""service.py PORT RULES: which rules an agent of a browser meets; each is a text that `re` compiles when needed."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "support"))
from server import serve

RULES = [rf"(?:^|[\s;(])Bot{number}(?:[/\s-](\d+)(?:\.(\d+))?)?(?:;|\)|$)" for number in range(int(sys.argv[2]))]
AGENT = "Mozilla/5.0 (X11; Linux x86_64; Bot7/2.1)"


def work(path: str) -> None:
    matching = [rule for rule in RULES if re.search(rule, AGENT)]
    assert len(matching) == 1


serve(int(sys.argv[1]), work)
