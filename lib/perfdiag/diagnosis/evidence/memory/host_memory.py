"""Memory of the host that no list of processes shows: huge pages that are kept for nobody, tmpfs and shared memory."""

from dataclasses import dataclass

from perfdiag.diagnosis.evidence.target import sysctl
from perfdiag.diagnosis.policy import memory_policy
from perfdiag.diagnosis.rule import Evidence, Remedy
from perfdiag.diagnosis.significance import fix, size
from perfdiag.model.model import Model, once

_PROBE = "/proc/meminfo"


@dataclass(frozen=True)
class Hidden:
    """Memory that is in use, or kept, and a good part of all there is."""

    bytes: int
    words: str  # "1.50 GiB of 1.95 GiB are unused huge pages"
    remedy: Remedy

    @property
    def evidence(self) -> Evidence:
        """Return the number that carries it."""
        return Evidence(self.words, float(self.bytes), "bytes", _PROBE)


@once
def hidden_on_host(model: Model) -> Hidden | None:
    """Return the largest such part at the end, None where each is small."""
    whole = model.facts.meminfo("MemTotal") or 0
    found = [each for each in (_unused_huge_pages(model, whole), _shared(model, whole)) if each]
    return max(found, key=lambda each: each.bytes, default=None)


def _unused_huge_pages(model: Model, whole: int) -> Hidden | None:
    """A process that has mapped some and not yet touched them may still want the reserved ones."""
    names = ("HugePages_Total", "HugePages_Free", "HugePages_Rsvd", "Hugepagesize")
    total, free, reserved, each_bytes = (model.facts.meminfo(name) or 0 for name in names)
    unused = max(0, free - reserved)
    if unused * each_bytes < max(1, memory_policy.unused_huge_pages_share * whole):
        return None
    words = f"{size(unused * each_bytes)} of {size(whole)} are unused huge pages"
    return Hidden(unused * each_bytes, words, sysctl("vm.nr_hugepages", total - unused, total))


def _shared(model: Model, whole: int) -> Hidden | None:
    taken = model.facts.meminfo("Shmem") or 0
    if taken < max(1, memory_policy.shared_memory_share * whole):
        return None
    words = f"tmpfs and shared memory take {size(taken)} of {size(whole)}"
    return Hidden(taken, words, fix("remove what is not needed from tmpfs and shared memory: df -t tmpfs, ipcs -m"))


def less_on_host(model: Model) -> list[Remedy]:
    """Return what leaves more of the host's memory for the target."""
    hidden = hidden_on_host(model)
    largest = fix("find the largest processes (ps -eo pid,rss,comm --sort -rss | head), or add memory")
    return [hidden.remedy, largest] if hidden else [largest]


def hidden_evidence(model: Model) -> list[Evidence]:
    """Return what no list of processes shows."""
    hidden = hidden_on_host(model)
    return [hidden.evidence] if hidden else []


def hidden_words(model: Model) -> str:
    """Return the same for the end of a headline, "" where there is none."""
    hidden = hidden_on_host(model)
    return f": {hidden.words}" if hidden else ""
