"""Makes an empty FAT16 file system of 64 MB, as mkfs.vfat does."""

import os
import struct
import sys

SECTORS, PER_CLUSTER, FAT_SECTORS, ROOT = 64 * 2048, 4, 128, 512
sizes = (512, PER_CLUSTER, 4, 2, ROOT, 0, 0xF8, FAT_SECTORS, 32, 64, 0, SECTORS)
boot = struct.pack("<3s8sHBHBHHBHHHII", b"\xeb\x3c\x90", b"mkfs.fat", *sizes)
boot += struct.pack("<BBBI11s8s", 0x80, 0, 0x29, 1, b"STICK      ", b"FAT16   ")
fat = struct.pack("<HH", 0xFFF8, 0xFFFF).ljust(FAT_SECTORS * 512, b"\0")
image = boot.ljust(510, b"\0") + b"\x55\xaa" + bytes(3 * 512) + 2 * fat + bytes(ROOT * 32)
with open(sys.argv[1], "wb") as disk:
    disk.write(image)
    disk.flush()
    os.fsync(disk.fileno())
