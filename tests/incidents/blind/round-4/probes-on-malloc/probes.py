"""Where malloc() and free() are, as uprobe_events wants it."""

import ctypes

libc = ctypes.CDLL("libc.so.6")
with open("/proc/self/maps") as file:
    first = next(line for line in file if "libc.so.6" in line)
path, base = first.split()[-1], int(first.split("-")[0], 16)
for name in ("malloc", "free"):
    print(f"p:uprobes/{name} {path}:{ctypes.cast(getattr(libc, name), ctypes.c_void_p).value - base:#x}")
