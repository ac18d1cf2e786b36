"""PORT SERVICE kept|new: asks another service for five parts of a page, by a client that is kept, or a new one each."""

import sys

import httpx
from server import serve

PORT, URL = int(sys.argv[1]), f"http://127.0.0.1:{sys.argv[2]}/"
PARTS = ("customer", "cart", "prices", "stock", "banner")
client = httpx.Client()
get = client.get if sys.argv[3] == "kept" else httpx.get
serve(PORT, lambda _: [get(URL + part).raise_for_status() for part in PARTS])
