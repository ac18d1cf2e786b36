"""Memory of the host that no list of processes shows: huge pages that nobody uses, tmpfs and shared memory."""

from perfdiag.diagnosis.policy import memory_policy
from perfdiag.diagnosis.rule import Evidence, Remedy
from perfdiag.diagnosis.significance import fix, size
from perfdiag.model.model import Model, once

_PROBE = "/proc/meminfo"
LARGEST = "find the largest processes (ps -eo pid,rss,comm --sort -rss | head), or add memory"


@once
def _unused_huge_pages(model: Model) -> tuple[int, int]:
    """Return how many huge pages nobody uses at the end, and how many bytes they keep; 0 where that is little.

    A process that has mapped some and not yet touched them may still want the reserved ones.
    """
    names = ("HugePages_Free", "HugePages_Rsvd", "Hugepagesize", "MemTotal")
    free, reserved, each_bytes, whole = (model.facts.meminfo(name) or 0 for name in names)
    unused = max(0, free - reserved)
    large = unused * each_bytes >= max(1, memory_policy.unused_huge_pages_share * whole)
    return (unused, unused * each_bytes) if large else (0, 0)


def less_on_host(model: Model) -> list[Remedy]:
    """Return what leaves more of the host's memory for the target."""
    unused, total = _unused_huge_pages(model)[0], model.facts.meminfo("HugePages_Total") or 0
    if not unused:
        return [fix(LARGEST)]
    fewer = (
        "find out who the huge pages are for: a database, virtual machines or DPDK that start later need them, and may"
        f" not get as many again until a reboot; if nobody: sysctl -w vm.nr_hugepages={total - unused} (now {total})"
    )
    return [fix(fewer), fix(LARGEST)]


def hidden_evidence(model: Model) -> list[Evidence]:
    """Return what no list of processes shows."""
    whole, shared = (model.facts.meminfo(name) or 0 for name in ("MemTotal", "Shmem"))
    found = []
    if words := _unused_words(model):
        found.append(Evidence(words, float(_unused_huge_pages(model)[1]), "bytes", _PROBE))
    if shared >= max(1, memory_policy.shared_memory_share * whole):
        text = f"{size(shared)} of {size(whole)} are tmpfs (df -t tmpfs) and shared memory, as of databases"
        found.append(Evidence(text, float(shared), "bytes", _PROBE))
    return found


def hidden_words(model: Model) -> str:
    """Return the huge pages for the end of a headline, "" where there are none."""
    words = _unused_words(model)
    return f": {words}" if words else ""


def _unused_words(model: Model) -> str:
    unused_bytes, whole = _unused_huge_pages(model)[1], model.facts.meminfo("MemTotal") or 0
    return f"{size(unused_bytes)} of {size(whole)} are unused huge pages" if unused_bytes else ""
