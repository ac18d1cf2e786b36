"""service.py PORT communicate|wait: answers with how long a report is."""

import subprocess
import sys

from server import serve

port, how = sys.argv[1:]


def report(_):
    with subprocess.Popen(["seq", "1", "15500"], stdout=subprocess.PIPE) as child:
        try:
            if how == "wait":
                child.wait(1)
            return len(child.communicate()[0])
        except subprocess.TimeoutExpired:  # it makes do with what there is
            child.kill()
            return len(child.communicate()[0])


serve(int(port), report)
