"""service.py PORT STOCK: answers when the service of the stock has been asked for three parts."""

import sys
from http.client import HTTPConnection

from server import serve


def page(path: str) -> None:
    """Ask for each over a connection of its own."""
    for part in range(3):
        stock = HTTPConnection("localhost", int(sys.argv[2]), timeout=5)
        stock.request("GET", f"/stock/{part}")
        assert stock.getresponse().read() == b"hello\n"
        stock.close()


serve(int(sys.argv[1]), page)
