"""What a recording lacks because of who made it: a recorder without all capabilities, or a script."""

from collections.abc import Iterable

from perfdiag.common.units import plural
from perfdiag.model.model import NotMeasured
from perfdiag.recording import schema
from perfdiag.recording.accounts import ACCOUNTS

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
        "the cost of perfdiag's programs in the kernel, accept queues and settings of other network namespaces, and"
        " NFS and KVM where they are modules",
    ),
    (("CAP_SYS_RAWIO",), "the clock that CPUs were really given, from /dev/cpu/*/msr"),
)

MEET_SLEEPERS = ("bcc",)  # engines whose script looks at all threads when it begins


def privileges(header: schema.Header) -> list[NotMeasured]:
    """Return what could not be measured for lack of capabilities, with the remedy."""
    found = []
    for capabilities, what in COSTS:
        if lacks := [name for name in capabilities if name in header.lacks]:
            names = " and ".join(lacks)
            fix = f"record as root, or give the recorder {names}: perfdiag(8)"
            found.append(NotMeasured(what, f"the recorder had no {names}", fix, "privileges"))
    return found


def unseen_accounts(header: schema.Header) -> frozenset[str]:
    """Return the accounts that whoever recorded cannot tell: their time stands in others, nothing in them is no 0."""
    if not header.accounts:
        return frozenset()
    return frozenset(each.name for each in ACCOUNTS if each.recorded) - set(header.accounts)


def script(
    header: schema.Header, footer: schema.Footer | None, features: Iterable[tuple[str, str]]
) -> list[NotMeasured]:
    """Return what a script leaves out: accounts, and of `features` (key, what it tells) those without a probe."""
    unseen = unseen_accounts(header)
    if not unseen:
        return []
    reason, fix = f"the script for {header.engine} cannot tell it", "where perfdiag is installed: perfdiag record"
    found = []
    if header.because:
        fix = "where the kernel takes perfdiag's own programs: perfdiag record --engine libbpf"
        why = f"{header.engine} recorded, because {header.because}"
        found.append(NotMeasured("what only perfdiag's own programs see", why, fix, "engine"))
    if footer and footer.threads_not_seen:
        what = f"what {plural(footer.threads_not_seen, 'thread')} did: not in these books"
        why = f"the script for {header.engine} saw nothing of them, and they have not slept all along"
        found.append(NotMeasured(what, why, fix, "unseen"))
    told = ", ".join(each.name for each in ACCOUNTS if each.name in unseen)
    found.append(NotMeasured(f"time by these accounts, it stands in others: {told}", reason, fix, "accounts"))
    probed = {probe.feature for probe in header.probes}
    if header.engine not in MEET_SLEEPERS:
        asleep = "what each thread did before its first switch"
        if footer is None or footer.threads_asleep is None:
            asleep = f"threads that slept through the whole window, and {asleep}"
        found.append(NotMeasured(asleep, "a script sees only who runs", fix, "threads"))
    found.append(NotMeasured("processes that the target started", "a script follows one process", fix, "descendants"))
    return found + [NotMeasured(what, reason, fix, key) for key, what in features if key not in probed]
