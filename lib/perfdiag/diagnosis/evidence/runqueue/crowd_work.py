"""What the threads that compete for CPUs compute: less of it is what finishes all of them sooner."""

from dataclasses import dataclass

from perfdiag.common.by_key import sums_by_key
from perfdiag.diagnosis.evidence.cpu.main_work import all_work, need_less
from perfdiag.diagnosis.evidence.runqueue.crowd import Crowd, are_many_processes
from perfdiag.diagnosis.evidence.runqueue.unknown_competitors import on_cpu_ns
from perfdiag.diagnosis.rule import Remedy
from perfdiag.diagnosis.significance import fix, percent, plain
from perfdiag.model.model import Model

_MOST = 0.5  # of their CPU time, or of the samples


@dataclass(frozen=True)
class CrowdWork:
    """The work that most of their CPU time goes to."""

    text: str  # "91 % of CPU samples are in parse (server)", "" where nothing stands out
    remedies: list[Remedy]


def crowd_work(model: Model, crowd: Crowd) -> CrowdWork:
    """Return what most of their CPU time is: of many processes the program that has it, else a function."""
    if are_many_processes(crowd):
        return _of_program(model, crowd)
    found = all_work(model)
    if found is None or found.part.share - found.part.error < _MOST:
        return CrowdWork("", need_less(model))
    return CrowdWork(f"{percent(found.part.share)} of {found.samples} samples are {found.where}", need_less(model))


def _of_program(model: Model, crowd: Crowd) -> CrowdWork:
    """Return the program that most of their CPU time goes to; that it is the target itself is no news."""
    by_name = sums_by_key((plain(each.comm), on_cpu_ns(each)) for each in crowd.threads)
    name, ns = max(by_name.items(), key=lambda item: item[1], default=("", 0))
    share = ns / max(1, by_name.total())
    if share < _MOST or name in {plain(target.comm) for target in model.header.targets}:
        return CrowdWork("", need_less(model))
    ended = sum(each.processes for each in crowd.threads if each.exited and plain(each.comm) == name)
    again = [fix(f"start {name} less often ({ended} ended in the window)")] if ended > crowd.runnable else []
    return CrowdWork(f"{name} has {percent(share)} of their CPU time", [*again, *need_less(model)])
