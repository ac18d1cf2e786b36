"""Two time services that know different times: one sets the clock back by 0.4 s, the other sets it forward again."""

import sys
import time

step = float(sys.argv[1])
while True:
    for each in (-step, step):
        if step:
            time.clock_settime(time.CLOCK_REALTIME, time.clock_gettime(time.CLOCK_REALTIME) + each)
        time.sleep(0.25 if each < 0 else 0.05)
