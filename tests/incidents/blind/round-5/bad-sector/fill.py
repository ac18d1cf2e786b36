"""Makes an archive and its second copy."""

import os

for name in ("data", "copy"):
    with open(f"mounted/{name}", "wb") as file:
        file.write(b"r" * (300 * 4096))
        file.flush()
        os.fsync(file.fileno())
