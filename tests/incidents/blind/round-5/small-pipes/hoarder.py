"""An agent that opens pipes and does not close them."""

import os
import resource
import sys
import time

resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
kept = [os.pipe() for _ in range(int(sys.argv[1]))]
print(os.getpid(), flush=True)
time.sleep(300)
