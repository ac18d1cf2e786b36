"""PORT: has a picture made smaller by another process for each request; without one if it takes too long."""

import contextlib
import multiprocessing
import sys

from server import serve


def thumbnail():
    picture = bytearray(40 << 20)
    picture[:: 1 << 12] = b"x" * len(picture[:: 1 << 12])
    return bytes(picture[:1000])


def main():
    pool = multiprocessing.Pool(2)

    def answer(_):
        with contextlib.suppress(multiprocessing.TimeoutError):
            pool.apply_async(thumbnail).get(timeout=1.5)

    serve(int(sys.argv[1]), answer)


main()
