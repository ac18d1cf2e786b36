"""service.py PORT INDENT: encodes the catalogue; 0 is no indentation."""

import json
import sys

from server import serve

indent = int(sys.argv[2]) or None
catalogue = [
    {"number": n, "name": f"product {n}", "price": n * 0.01, "tags": ["new", "red"], "stock": {"north": n, "south": 0}}
    for n in range(3000)
]


serve(int(sys.argv[1]), lambda _: len(json.dumps(catalogue, indent=indent)))
