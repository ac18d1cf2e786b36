import itertools
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import load

names = itertools.count()


def client():
    clients = {}

    def request():
        number = next(names) % 40
        if number not in clients:
            clients[number] = load.http(int(sys.argv[1]), f"/{number}", fresh=True)()
        clients[number]()

    return request


load.run(client, 8, int(sys.argv[2]), 8)
