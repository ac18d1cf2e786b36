"""Requests that wait for a CPU in a queue of their own: a scheduler of goroutines, tasks or fibers has as many threads
as there are CPUs, so that no thread waits, and nothing shows which request a thread has.

They do wait for a CPU where the target computes on all that it may use, and more requests are in progress than these
are: whoever computes keeps the others waiting.
"""

from dataclasses import dataclass

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.cpu.main_work import main_work, need_less
from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples
from perfdiag.diagnosis.evidence.fix_checks import measured
from perfdiag.diagnosis.evidence.target import CPU, subject, usable_cpus
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import general_policy, runqueue_policy
from perfdiag.diagnosis.rule import Confidence, Evidence, Finding, Mechanism
from perfdiag.diagnosis.significance import duration, fix, percent
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import REST


@dataclass(frozen=True)
class _Crowd:
    """Requests in progress, and the CPUs that they compute on."""

    requests: float  # in progress on average, while any was
    cpus: int  # that the target may use
    used: float  # the part of these that it used, all window

    @property
    def exceeds(self) -> bool:
        """Whether the CPUs are used up and do not suffice for all requests."""
        return (
            self.used >= runqueue_policy.used_up_share
            and self.requests > self.cpus + runqueue_policy.oversubscribed_margin_share
        )


def waiting_requests(model: Model) -> Finding | None:
    """Return the finding of requests that were not followed and wait for CPUs that the target uses up, else None.

    Of their time as large a part is claimed as the target used of its CPUs: the rest may be anything.
    """
    time, crowd = model.request_time, _crowd(model)
    if time is None or crowd is None or not crowd.exceeds:
        return None
    rest_ns = round(time.accounts.get(REST, 0) * min(1.0, crowd.used))
    if rest_ns < general_policy.worth_share * time.ns:
        return None
    cpu_ns, cpus, work = model.ns(*CPU), plural(crowd.cpus, "CPU"), main_work(model, CpuSamples(model))
    return conclude(
        model,
        {REST: rest_ns},
        headline=f"On average {crowd.requests:.1f} requests compete for {cpus}",
        claim=(
            f"On average {crowd.requests:.1f} requests were in progress, and {subject(model)} used"
            f" {percent(crowd.used)} of the {cpus} that it may use: requests wait for each other's computing."
        ),
        mechanism=Mechanism.BUSY,
        best=Confidence.MEDIUM,
        evidence=[
            Evidence(
                f"{duration(cpu_ns)} of CPU time in {duration(model.window_ns)} on {cpus}",
                float(cpu_ns),
                "ns",
                "ledger",
            ),
            *([work.evidence] if work else []),
        ],
        remedies=[*need_less(model), fix("add CPUs, or answer fewer requests at once")],
        alternatives=["requests wait for something else, and background work uses the CPUs"],
        verify=measured(model, f"less than {percent(runqueue_policy.used_up_share)} of the CPUs used"),
        returns="More requests at once are not answered sooner.",
    )


def _crowd(model: Model) -> _Crowd | None:
    """Return the crowd; None where nothing tells how many requests were in progress."""
    inside = model.requests_inside
    any_ns = sum(each.sum_ns for each in inside.levels) if inside else 0
    if inside is None or not any_ns or not model.window_ns:
        return None
    mean = sum(each.level * each.sum_ns for each in inside.levels) / any_ns
    cpus = usable_cpus(model)
    return _Crowd(mean, cpus, model.ns(*CPU) / (cpus * model.window_ns))
