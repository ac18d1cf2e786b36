"""shop.py PORT PRICES: asks for 12 prices at once, and again for what does not come."""

import socket
import sys

from server import serve

port, prices = map(int, sys.argv[1:])
AGAIN_S = 0.25


def collect(_):
    missing = {b"%d" % number for number in range(12)}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as service:
        service.connect(("127.0.0.1", prices))
        service.settimeout(AGAIN_S)
        while missing:
            for each in missing:
                service.send(each)
            try:
                while missing:
                    missing.discard(service.recv(100))
            except TimeoutError:
                continue


serve(port, collect)
