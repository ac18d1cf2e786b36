import itertools
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import load

names = itertools.count()


def client():
    def clone():
        folder = f"clone-{next(names)}"
        subprocess.run(
            ["git", "clone", "-q", "--bare", f"git://127.0.0.1:{sys.argv[1]}/repository", folder],
            check=True,
        )
        shutil.rmtree(folder)

    return clone


load.run(client, 1, int(sys.argv[2]), 4)
