"""Adds up temporary arrays for each request."""

import numpy

BASE = numpy.arange(1_500_000, dtype=numpy.float32)


def application(_, start):
    total = BASE
    for number in range(24):
        total = total + number  # a new array of 6 MB
    start("200 OK", [("Content-Length", "3")])
    return [b"ok\n"]
