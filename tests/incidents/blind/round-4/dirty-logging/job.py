"""Runs a virtual machine that writes to 112 pages of its memory in turn; while it is migrated, if so."""

import ctypes
import fcntl
import json
import mmap
import os
import select
import struct
import sys
import threading
import time


def wait_for_start():
    """Say that all is prepared, and wait for the recorder: with two descriptors, as for events."""
    print('{"ready": true}', flush=True)
    nothing, other = os.pipe()
    poll = select.poll()
    for fd in (0, nothing):
        poll.register(fd, select.POLLIN)
    poll.poll()
    os.read(0, 1)
    os.close(nothing)
    os.close(other)
    return time.monotonic_ns()


def tell(began, **truth):
    print(json.dumps({"elapsed_ns": time.monotonic_ns() - began, **truth}), flush=True)


MEMORY, CODE, ROUNDS, SPINS = 0x100000, 0x1000, 12000, 30000
CREATE_VM, RUN_SIZE, SET_MEMORY = 0xAE01, 0xAE04, 0x4020AE46
CREATE_VCPU, RUN, GET_SREGS, SET_SREGS, SET_REGS = 0xAE41, 0xAE80, 0x8138AE83, 0x4138AE84, 0x4090AE82
DIRTY_LOG, LOGGED, HALTED = 0x4010AE42, 1, 5
PROGRAM = b"".join(
    (
        b"\xbd" + struct.pack("<H", ROUNDS),  # mov bp, ROUNDS
        b"\xb8\x00\x20",  # 1: mov ax, 0x2000
        b"\x8e\xc0",  # 2: mov es, ax
        b"\x26\xa2\x00\x00",  # mov es:[0], al
        b"\x05\x00\x01",  # add ax, 0x100
        b"\x3d\x00\x90",  # cmp ax, 0x9000
        b"\x72\xf2",  # jb 2b
        b"\xb9" + struct.pack("<H", SPINS),  # mov cx, SPINS
        b"\xe2\xfe",  # loop .
        b"\x4d",  # dec bp
        b"\x75\xe7",  # jnz 1b
        b"\xf4",  # hlt
    )
)


def migrate(vm, ended):
    """Ask which pages have changed, again and again."""
    room = ctypes.create_string_buffer(MEMORY // 4096 // 8 + 8)
    query = struct.pack("IIQ", 0, 0, ctypes.addressof(room))
    while not ended.is_set():
        fcntl.ioctl(vm, DIRTY_LOG, query)
        time.sleep(0.005)


migrates = int(sys.argv[1])
kvm = os.open("/dev/kvm", os.O_RDWR)
vm = fcntl.ioctl(kvm, CREATE_VM, 0)
memory = mmap.mmap(-1, MEMORY)
memory[:] = bytes(MEMORY)
memory[CODE : CODE + len(PROGRAM)] = PROGRAM
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
fcntl.ioctl(vm, SET_MEMORY, struct.pack("IIQQQ", 0, LOGGED if migrates else 0, 0, MEMORY, address))
vcpu = fcntl.ioctl(vm, CREATE_VCPU, 0)
run = mmap.mmap(vcpu, fcntl.ioctl(kvm, RUN_SIZE, 0))
special = bytearray(312)
fcntl.ioctl(vcpu, GET_SREGS, special)
special[0:8], special[12:14] = bytes(8), bytes(2)  # base and selector of cs
fcntl.ioctl(vcpu, SET_SREGS, special)
fcntl.ioctl(vcpu, SET_REGS, bytearray(struct.pack("18Q", *([0] * 16), CODE, 2)))
ended = threading.Event()
migration = threading.Thread(target=migrate, args=(vm, ended))
began = wait_for_start()
if migrates:
    migration.start()
fcntl.ioctl(vcpu, RUN, 0)
reason = struct.unpack_from("I", run, 8)[0]
ended.set()
if migrates:
    migration.join()
if reason != HALTED:
    raise SystemExit(f"the machine has ended for reason {reason}")
tell(began, rounds=ROUNDS)
