"""What a recording lacks because its recorder lacked capabilities."""

from __future__ import annotations

from perfdiag import schema
from perfdiag.model import NotMeasured

# What is lost when any one of these capabilities is missing; perfdiag(8) says which process needs it and why.
COSTS: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH"),
        "functions, open files and I/O of processes of other users or groups, or with more privileges",
    ),
    (("CAP_SYSLOG",), "the kernel functions that waits are in, and the kernel log"),
    (("CAP_CHECKPOINT_RESTORE",), "functions of programs whose files were replaced or deleted"),
    (
        ("CAP_SYS_ADMIN",),
        "the cost of perfdiag's programs in the kernel, the accept queues of other network namespaces, and NFS and KVM"
        " where they are modules",
    ),
    (("CAP_SYS_RAWIO",), "the clock that CPUs were really given, from /dev/cpu/*/msr"),
)


def privileges(header: schema.Header) -> list[NotMeasured]:
    """Return what could not be measured for want of capabilities, with the remedy."""
    found = []
    for capabilities, what in COSTS:
        if lacks := [name for name in capabilities if name in header.lacks]:
            names = " and ".join(lacks)
            fix = f"record as root, or give the recorder {names}: perfdiag(8)"
            found.append(NotMeasured(what, f"the recorder had no {names}", fix, "privileges"))
    return found


__all__ = ["COSTS", "privileges"]
