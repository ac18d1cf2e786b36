"""Collections of a Java virtual machine that somebody asks for from outside: for histograms and dumps of its heap.

HotSpot names what its VM Thread does while all others are stopped: the class of the operation, whose doit() is on the
stack, and the cause of a collection that it makes for that.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from perfdiag.common.by_key import sums_by_key
from perfdiag.diagnosis.policy import cpu_policy
from perfdiag.diagnosis.rule import Evidence, EvidenceKind, Remedy
from perfdiag.diagnosis.significance import fix, percent
from perfdiag.model.model import Model
from perfdiag.model.stacks.symbols import readable

_OPERATION = re.compile(r"(VM_\w+)::doit\b")


@dataclass(frozen=True)
class _Kind:
    """What is asked for."""

    operations: tuple[str, ...]  # classes of HotSpot
    cause: str  # of the collection, as the JVM's counters and log have it
    words: str  # "makes a histogram of its heap"
    asked_by: str


_KINDS = (
    _Kind(
        ("VM_GC_HeapInspection",),
        "Heap Inspection Initiated GC",
        "makes a histogram of its heap",
        "jcmd GC.class_histogram, jmap -histo",
    ),
    _Kind(("VM_HeapDumper",), "Heap Dump Initiated GC", "dumps its heap", "jcmd GC.heap_dump, jmap -dump"),
)


@dataclass(frozen=True)
class AskedStop:
    """Such a stop, and the part of the samples inside of stops that shows it; None: the cause of a collection does."""

    kind: _Kind
    operation: str  # the class that was sampled, "" without samples
    part: float | None

    @property
    def headline(self) -> str:
        """Return it in one line."""
        return f"Threads stop while the JVM {self.kind.words}, because somebody asks for it"

    @property
    def evidence(self) -> list[Evidence]:
        """Return the samples that show it."""
        if self.part is None:
            return []
        text = f"{percent(self.part)} of the VM Thread's samples in stops are in {self.operation}"
        return [Evidence(text, self.part, "share", "stack samples", kind=EvidenceKind.FUNCTIONS)]

    @property
    def remedy(self) -> Remedy:
        """Return what ends it."""
        return fix(f"find what asks for it, and ask less often ({self.kind.asked_by}): monitoring does so on a timer")


def asked_stop(model: Model, pid: int, cause: str = "") -> AskedStop | None:
    """Return what most of the work in stops is for, if somebody asks for that; `cause`: of the last collection."""
    counts = sums_by_key((_operation(stack.user), stack.count) for stack in model.stacks_of(pid) if stack.kind == "cpu")
    counts.pop("", None)
    most = max(counts, key=lambda name: (counts[name], name), default="")
    enough = counts.total() >= cpu_policy.samples_for_function and 2 * counts[most] > counts.total()
    for kind in _KINDS:
        if most in kind.operations and enough:
            return AskedStop(kind, most, counts[most] / counts.total())
        if not counts and cause == kind.cause:
            return AskedStop(kind, "", None)
    return None


def _operation(frames: Sequence[str]) -> str:
    return next((match[1] for frame in frames if (match := _OPERATION.match(readable(frame)))), "")
