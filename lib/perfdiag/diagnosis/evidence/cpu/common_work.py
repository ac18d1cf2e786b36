"""What a target computes in its own code and in the kernel, where its own code alone is not most of its time."""

from dataclasses import dataclass

from perfdiag.diagnosis.evidence.cpu.call_path import cpu_path
from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples
from perfdiag.diagnosis.evidence.request_readers import request_readers
from perfdiag.diagnosis.evidence.target import CPU, LACKING_CPU, is_most_but_for_lack
from perfdiag.diagnosis.policy import cpu_policy
from perfdiag.diagnosis.rule import Remedy
from perfdiag.diagnosis.significance import fix, plain
from perfdiag.model.model import Model, once
from perfdiag.model.stacks.scripts import of_others

_MOST = 0.5  # of the time, or of the samples
_LEAST = 0.25  # of the time, below which that is no answer
_RUNNABLE = ("runq.busy", "runq.waking")
_SHOWN = 2  # functions


@dataclass(frozen=True)
class CommonWork:
    """Functions below which most CPU time is spent: the program's own, and what that asks of a library."""

    path: list[str]  # one, or two of which the first calls the second
    share: float  # of request time, or of busy time
    waiting: float  # the part in which it waits for a CPU to do so, 0 where that is not much

    @property
    def below(self) -> str:
        """Return the innermost of them, and who calls it."""
        *caller, innermost = self.path
        return f"{innermost}, called by {caller[0]}" if caller else innermost

    @property
    def remedy(self) -> Remedy:
        """Return what makes it faster."""
        first, *deeper = self.path
        return fix(f"call {deeper[0]} less in {first}" if deeper else f"do less in {first}")


@once
def common_work(model: Model) -> CommonWork | None:
    """Return that work, None where own code is most of the time or next to nothing, or most is not below one function.

    Time in which it lacks a CPU is left out.
    """
    share_of = model.share_of_requests if model.request_time else model.share
    both, waiting, lacking = share_of(*CPU), share_of(*_RUNNABLE), share_of("runq.waking", *LACKING_CPU)
    own, kernel = map(share_of, CPU)
    if own >= _MOST or (kernel >= _MOST and own < _LEAST) or not is_most_but_for_lack(both, lacking):
        return None
    path = _path(serving_samples(model))
    return CommonWork(path, both, waiting if waiting > _LEAST else 0.0) if path else None


@once
def serving_samples(model: Model) -> CpuSamples:
    """Return the samples of the threads that read requests, where most CPU time is theirs, or most of the requests'
    time is their computing: what compiles or collects garbage beside them is not what requests wait for."""
    samples = CpuSamples(model)
    readers = request_readers(model)
    if not readers:
        return samples
    serving = CpuSamples(model, tids=readers)
    if serving.count < cpu_policy.samples_for_function:
        return samples
    computing = is_most_but_for_lack(_computed_share(model), model.share_of_requests(*LACKING_CPU))
    return serving if computing or serving.count >= _MOST * samples.count else samples


def _computed_share(model: Model) -> float:
    """Return the share of requests' time that is CPU time of their own threads, without processes they wait for."""
    time = model.request_time
    awaited_ns = sum(time.awaited.get(name, 0) for name in CPU) if time else 0
    return model.share_of_requests(*CPU) - (awaited_ns / time.ns if time and time.ns else 0.0)


def _path(samples: CpuSamples) -> list[str]:
    deep = [name for step in cpu_path(samples) if step.share > _MOST for name in step.names]
    own = max((place for place, name in enumerate(deep) if not of_others(name)), default=len(deep))
    if len(deep[own:]) > 1:
        return [plain(name) for name in deep[own : own + _SHOWN]]
    innermost_first = [each.name for each in samples.hot_path() if each.part.share - each.part.error > _MOST]
    return list(reversed(innermost_first[:_SHOWN]))
