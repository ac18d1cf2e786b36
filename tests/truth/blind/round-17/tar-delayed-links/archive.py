"""archive.py NAME: many symbolic links to absolute names, and as many hard links, as /usr and /etc have."""

import io
import sys
import tarfile

with tarfile.open(sys.argv[1], "w") as archive:
    for number in range(6000):
        link = tarfile.TarInfo(f"etc/alternatives/name-{number}")
        link.type, link.linkname = tarfile.SYMTYPE, f"/usr/lib/programs/name-{number}"
        archive.addfile(link)
    for number in range(6000):
        name = f"usr/share/zoneinfo/zone-{number}"
        if number % 6 == 0:
            file = tarfile.TarInfo(name)
            file.size = 20
            archive.addfile(file, io.BytesIO(b"x" * 20))
            first = name
        else:
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.LNKTYPE, first
            archive.addfile(link)
