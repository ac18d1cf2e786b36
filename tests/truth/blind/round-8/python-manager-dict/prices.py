"""PORT PRICES: adds up prices that another process keeps."""

import multiprocessing
import sys

from server import serve


def main():
    manager = multiprocessing.Manager()
    shared = manager.dict({number: number * 1.19 for number in range(1500)})

    def answer(_):
        prices = shared.copy() if sys.argv[2] == "copied" else shared
        sum(prices[number] for number in range(1500))

    serve(int(sys.argv[1]), answer)


main()
