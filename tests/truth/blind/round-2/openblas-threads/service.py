"""Multiplies matrices for each request."""

import numpy

MATRIX = numpy.random.default_rng(1).random((500, 500))


def application(_, start):
    total = MATRIX
    for _ in range(3):
        total = total @ MATRIX
        total /= total.max()
    start("200 OK", [("Content-Length", "3")])
    return [b"ok\n"]
