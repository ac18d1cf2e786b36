"""job.py FOLDER each|once: sums up readings of some stations in an archive, and notes how long it took."""

import sys
import time
import zipfile

folder, opened = sys.argv[1:]


class Store:
    def __init__(self, path):
        self.path = path
        self.archive = zipfile.ZipFile(path) if opened == "once" else None

    def reading(self, name):
        if self.archive:
            return self.archive.read(name)
        with zipfile.ZipFile(self.path) as archive:
            return archive.read(name)


def job():
    store = Store(f"{folder}/readings.zip")
    return sum(len(store.reading(f"station-{number}")) for number in range(0, 6000, 300))


if opened == "make":
    with zipfile.ZipFile(f"{folder}/readings.zip", "w") as archive:
        for number in range(6000):
            archive.writestr(f"station-{number}", b"21.5\n" * 10)
    sys.exit()
while True:
    begun = time.monotonic()
    job()
    with open(f"{folder}/rounds", "a") as rounds:
        rounds.write(f"{time.monotonic() - begun:.3f}\n")
    time.sleep(0.5)
