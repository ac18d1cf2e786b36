"""slack.py NS COMMAND...: becomes a command whose timers may be that many nanoseconds late (TimerSlackNSec=)."""

import ctypes
import os
import sys

PR_SET_TIMERSLACK = 29
ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, ctypes.c_ulong(int(sys.argv[1])), 0, 0, 0)
os.execvp(sys.argv[2], sys.argv[2:])
