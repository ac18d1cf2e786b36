import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import load

load.run(load.http(int(sys.argv[1]), fresh=True), 16, int(sys.argv[2]), 20, burst=8)
