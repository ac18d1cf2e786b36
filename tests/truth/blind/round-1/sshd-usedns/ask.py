import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import load

OPTIONS = ["-oStrictHostKeyChecking=no", "-oUserKnownHostsFile=/dev/null", "-oBatchMode=yes", "-oLogLevel=ERROR"]


def client():
    command = ["ssh", "-F", "none", "-i", "key", *OPTIONS, "-p", sys.argv[1], "root@127.0.0.1", "true"]
    return lambda: subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


load.run(client, 2, int(sys.argv[2]), 12)
