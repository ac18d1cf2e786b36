"""Compiles the C files of tests/unit/c, alone or with the recorder's sources they name, into build/tests."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import threading
from pathlib import Path

__all__ = ["FLAVOURS", "build", "compile_c", "environment"]

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "tests/unit/c"
RECORDER = ROOT / "lib/recorder"
BUILD = ROOT / "build/tests"
GENERATED = ROOT / "build/include"  # the skeleton of the BPF programs
FLAGS = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-g", f"-I{RECORDER}", f"-I{ROOT / 'bpf'}"]
FLAGS += ['-DPERFDIAG_VERSION="of a test"']
FLAVOURS = {
    "plain": ["-O2"],
    "sanitized": ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
}
# arm64's header says this much and leaves the rest to the generic table.
GENERIC = """#define __ARCH_WANT_RENAMEAT
#define __ARCH_WANT_NEW_STAT
#define __ARCH_WANT_SET_GET_RLIMIT
#define __ARCH_WANT_TIME32_SYSCALLS
#define __ARCH_WANT_SYS_CLONE3
#include <asm-generic/unistd.h>
"""
SYSCALL_HEADERS = {
    "syscall_names.inc": "asm/unistd.h",
    "syscall_names_i386.inc": "asm/unistd_32.h",
    "syscall_names_generic.inc": "unistd_generic.h",
}


def environment() -> dict[str, str]:
    """Return the environment for a compiled test: a sanitizer's finding ends it."""
    return os.environ | {"ASAN_OPTIONS": "detect_leaks=1", "UBSAN_OPTIONS": "print_stacktrace=1"}


def compile_c(arguments: list[str]) -> None:
    """Run the compiler; its messages are the failure."""
    run = subprocess.run(["gcc", *arguments], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def replace(path: Path, content: bytes) -> None:
    """Write a file that others may read at this moment."""
    unfinished = path.with_name(f"{path.name}.{threading.get_native_id()}")
    unfinished.write_bytes(content)
    unfinished.replace(path)


def system_call_names() -> Path:
    """Write the lists of system calls that syscall_table.c includes; return their folder."""
    folder = BUILD / "include"
    folder.mkdir(parents=True, exist_ok=True)
    replace(folder / "unistd_generic.h", GENERIC.encode())
    for name, header in SYSCALL_HEADERS.items():
        if header == "asm/unistd_32.h" and os.uname().machine != "x86_64":
            continue
        script = [str(RECORDER / "program/syscall_names.sh"), header]
        names = subprocess.run(script, env=os.environ | {"CPPFLAGS": f"-I{folder}"}, capture_output=True, check=True)
        replace(folder / name, names.stdout)
    return folder


def build(name: str, flavour: str) -> Path:
    """Compile tests/unit/c/NAME.c with what its first lines ask for; return the program."""
    source = SOURCES / f"{name}.c"
    head = source.read_text()[:1200]

    def words(key: str) -> list[str]:
        found = re.search(rf"/\* {key}: (.*) \*/", head)
        return shlex.split(found[1]) if found else []

    program = BUILD / flavour / name
    program.parent.mkdir(parents=True, exist_ok=True)
    unfinished = program.with_name(
        f"{name}.{threading.get_native_id()}"
    )  # another run of the tests may use it at this moment
    arguments = [*FLAGS, *FLAVOURS[flavour], f"-I{system_call_names()}", f"-I{GENERATED}"]
    arguments += ["-o", str(unfinished), str(source)]
    arguments += [str(RECORDER / recorder_source) for recorder_source in words("SOURCES")]
    arguments += [f"-Wl,--wrap={function}" for function in words("WRAPS")]
    compile_c(arguments + words("LIBS"))
    return unfinished.replace(program)
