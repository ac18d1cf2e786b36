import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import load

COOKIE = "Cookie: PHPSESSID=abcdefghijklmnopqrstuvwxyz\r\n"
load.run(load.http(int(sys.argv[1]), "/widget", headers=COOKIE), 24, int(sys.argv[2]), 12, burst=6)
