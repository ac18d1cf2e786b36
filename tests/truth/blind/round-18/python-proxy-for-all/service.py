"""service.py PORT STOCK: answers with what the service of the stock says."""

import sys

import requests
from server import serve

session = requests.Session()


def page(path: str) -> None:
    """Ask how many there are."""
    answer = session.get(f"http://127.0.0.1:{sys.argv[2]}/stock/17", timeout=5)
    answer.raise_for_status()
    assert answer.text == "hello\n"


serve(int(sys.argv[1]), page)
