"""CPU-STOLEN: the hypervisor takes the CPU away from running threads."""

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.fix_checks import time_under
from perfdiag.diagnosis.evidence.virtual.host_side import queued
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.rule import (
    Check,
    Evidence,
    Mechanism,
    Outcome,
    Silence,
    rule,
)
from perfdiag.diagnosis.significance import duration, fix, percent, worth
from perfdiag.facts.texts import lines_of, words_of
from perfdiag.model.model import Model


@rule(
    "CPU-STOLEN",
    title="The hypervisor takes the CPU away",
    accounts=("cpu.stolen",),
    meaning=(
        "This host is a guest. Its virtual CPU stopped while a thread of the target was on it, because the hypervisor"
        " ran something else or a limit of the guest was used up."
    ),
    measured=(
        "The kernel's steal clock at each switch of the target's threads, and steal of all CPUs in /proc/stat. If"
        " that counter never moved since boot, the hypervisor may not report steal."
    ),
    alternatives="Used-up CPU credits of a small cloud instance, or a CPU limit on the guest.",
    remedies="A less crowded host, another instance type, or fewer virtual CPUs per real one.",
    verify="cpu.stolen is under 5 % of busy time; st in vmstat 1 falls.",
    met=False,
)
def stolen(model: Model) -> Iterable[Outcome]:
    """Join cpu.stolen with the host's steal counter and the hypervisor."""
    ns, share = model.ns("cpu.stolen"), model.share("cpu.stolen")
    machine = model.facts.hypervisor
    if machine is not None and machine.name == "none" and not ns:
        yield Check("CPU-STOLEN", "steal 0: bare metal", 0.0, "share")
        return
    whole, beneath = model.facts.steal_share, queued(model)
    if worth(model, ns):
        yield conclude(
            model,
            {"cpu.stolen": ns},
            headline="The hypervisor takes the CPU away from running threads",
            claim=f"The hypervisor{_named(model)} took the CPU from running threads for {duration(ns)}.",
            mechanism=Mechanism.BUSY,
            evidence=[
                Evidence(f"{duration(ns)} stolen while threads ran", float(ns), "ns", "ledger, steal clock"),
                *(
                    [Evidence(f"{percent(whole)} of all CPU time of this guest stolen", whole, "share", "/proc/stat")]
                    if whole is not None
                    else []
                ),
                *(beneath.evidence if beneath else []),
            ],
            remedies=[
                fix(
                    "ask the host's operator about this guest's steal (CPU ready time), or check its CPU credits; move"
                    " it to a less crowded host or to dedicated CPUs"
                ),
                fix("give the guests of that host fewer virtual CPUs than it has real ones"),
            ],
            alternatives=["used-up CPU credits of a small cloud instance", "a CPU limit set on this guest"],
            verify=time_under(model, "cpu.stolen"),
        )
    elif beneath and (not model.measured("steal") or _never_moved(model)):
        text = f"steal {percent(share)} of busy time, or not reported; {beneath.evidence[0].text}"
        yield Check("CPU-STOLEN", text, max(share, beneath.part), "share")
    elif not model.measured("steal"):
        reason = "no steal clock could be read"
        known = f"; /proc/stat shows {percent(whole)} of all CPU time" if whole is not None else ""
        yield Silence("CPU-STOLEN", reason + known, "perfdiag check (feature steal); vmstat 1, column st")
    elif _never_moved(model):
        yield Silence(
            "CPU-STOLEN",
            f"the steal counter of this guest{_named(model)} never moved: no steal, or not reported",
            "on the host: ready time of this guest (esxtop, virsh domstats, provider metrics)",
        )
    else:
        yield Check("CPU-STOLEN", f"steal {percent(share)} of busy time", share, "share")


def _never_moved(model: Model) -> bool:
    """Return whether the guest's kernel never saw steal."""
    return not model.ns("cpu.stolen") and not model.facts.steal_share and not steal_since_boot(model)


def steal_since_boot(model: Model) -> int | None:
    """Return the stolen ticks since boot, None when not recorded."""
    for line in lines_of(model.facts.texts.text("/proc/stat")):
        fields = words_of(line)
        if fields[:1] == ["cpu"] and len(fields) > 8 and fields[8].isascii() and fields[8].isdigit():
            return int(fields[8][:20])
    return None


def _named(model: Model) -> str:
    machine = model.facts.hypervisor
    return f" ({machine.name})" if machine and machine.name not in ("none", "unknown") else ""
