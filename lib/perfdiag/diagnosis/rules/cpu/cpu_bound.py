"""CPU-BOUND: the target computes in its own code."""

from collections.abc import Iterable, Sequence

from perfdiag.diagnosis.evidence.cpu.call_path import code_evidence
from perfdiag.diagnosis.evidence.cpu.cheaper import cheaper
from perfdiag.diagnosis.evidence.cpu.common_work import serving_samples
from perfdiag.diagnosis.evidence.cpu.garbage_collection import Collection, collection
from perfdiag.diagnosis.evidence.cpu.main_work import MainWork, main_work
from perfdiag.diagnosis.evidence.cpu.spinning import spinning
from perfdiag.diagnosis.evidence.cpu.stack_samples import UNKNOWN_CODE, CpuSamples, Hot, functions_evidence
from perfdiag.diagnosis.evidence.cpu.time_split import sample_limits, split_error, split_limit
from perfdiag.diagnosis.evidence.fix_checks import less
from perfdiag.diagnosis.evidence.requests.cheaper_commands import fewer_commands
from perfdiag.diagnosis.evidence.requests.computed_for import computed_for
from perfdiag.diagnosis.evidence.requests.unasked_sends import Unasked, mostly_unasked
from perfdiag.diagnosis.evidence.target import CPU, LACKING_CPU, cpu_ns, is_most_but_for_lack, subject, who_computes
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import cpu_policy
from perfdiag.diagnosis.rule import (
    Check,
    Evidence,
    Finding,
    Mechanism,
    Outcome,
    rule,
)
from perfdiag.diagnosis.significance import duration, fix, percent, plain, worth
from perfdiag.model.model import Model


@rule(
    "CPU-BOUND",
    title="The target computes in its own code",
    accounts=("cpu.user",),
    meaning=(
        "The target runs its own code for more than half of its busy time, or of its requests, apart from time without"
        " a CPU; or own and kernel code together, where most of what it sends answers no request. This is a profile,"
        " not a fault."
    ),
    measured=(
        "CPU time per thread, split into user and kernel by scheduler ticks. CPU stacks are sampled at the tick; a"
        " function's share counts samples with it innermost, with a 95 % interval. What is sent on accepted connections"
        " without a request is counted; four fifths of all sends there, and of their bytes, are most of what it sends."
    ),
    alternatives=(
        "A loop that polls a flag in memory looks like computing. Work in step with the tick is sampled wrongly."
    ),
    remedies="Make the named functions cheaper, cache their results, or use more or faster CPUs.",
    verify="The same work takes less cpu.user.",
)
def bound(model: Model) -> Iterable[Outcome]:
    """Join cpu.user with the innermost functions of sampled CPU stacks, over the window."""
    ns = model.ns("cpu.user") - sum(loop.user_ns for loop in spinning(model))
    of_busy = ns / model.busy_ns if model.busy_ns else 0.0
    share, whole = max((of_busy, "busy time"), (model.share_of_requests("cpu.user"), "request time"))
    error, news = split_error(model), mostly_unasked(model)
    all_cpu = max(share, model.share_of_requests(*CPU) if news else 0.0)  # sending is in the kernel
    most = all_cpu >= cpu_policy.bound_share or _is_most(model, of_busy) or _is_one_spot(model, share)
    if not most or not worth(model, ns):
        cpu = model.ns(*CPU)
        text = f"own code {duration(ns)}, {percent(of_busy)} of busy time"
        if error > cpu_policy.split_unknown_share:
            text = f"user or kernel code {duration(cpu)}, {percent(cpu / model.busy_ns)} of busy time"
        yield Check("CPU-BOUND", text, of_busy, "share")
        return
    yield _finding(model, ns, f"{percent(share)} of its {whole}", error, news)


def _is_most(model: Model, of_busy: float) -> bool:
    """Return whether that holds of own code in busy time, or in that of requests."""
    return is_most_but_for_lack(of_busy, model.share(*LACKING_CPU)) or is_most_but_for_lack(
        model.share_of_requests("cpu.user"), model.share_of_requests(*LACKING_CPU)
    )


def _is_one_spot(model: Model, share: float) -> bool:
    """Return whether a good part of the time is own code, most of which is one function."""
    spot = serving_samples(model).hot_spot() if share >= cpu_policy.bound_in_one_share else None
    return spot is not None and spot.part.share - spot.part.error >= cpu_policy.bound_share


def _finding(model: Model, ns: int, part: str, error: float, news: Unasked | None) -> Finding:
    samples, everyone = serving_samples(model), CpuSamples(model)
    spot, main = samples.hot_spot(), main_work(model, samples)
    whose = " of the threads that read requests" if samples.count < everyone.count else ""
    evidence = [
        _own_time(ns, error * model.ns(*CPU)),
        *([news.evidence] if news else []),
        *_threads(model),
        *_functions(samples, whose),
        *([] if main else _shared_out(samples)),
    ]
    garbage = collection(model, everyone)
    collects = garbage is not None and not (spot and _outweighs(spot, garbage))
    where = _where(collects, main, samples)
    evidence += [garbage.evidence] if garbage else []
    named = samples.hottest(1)
    most = [spot] if spot else named
    top = f" {most[0].name} is innermost in {most[0].part} of CPU samples{whose}." if most and not collects else ""
    if garbage:
        top += f" {garbage.part} of its CPU samples are in the garbage collector."
    own = "its own code" if error <= cpu_policy.split_unknown_share else "user or kernel code"
    claim = f"{subject(model, begin=True)} spends {part} in {own}.{top}"
    less_work = fewer_commands(computed_for(model, fewest_names=1)) or cheaper(model, samples)
    remedies = [fix(f"{less_work}, or use {_cpus(model)}")]
    if garbage:
        remedies.insert(0 if collects else 1, garbage.remedy)
    return conclude(
        model,
        {"cpu.user": ns},
        headline=f"{who_computes(model)} computes{f'; {news.told}' if news else where}",
        claim=claim,
        mechanism=Mechanism.WORK,
        departs=False,
        doubts=[*sample_limits(model, samples), split_limit(error)],
        evidence=evidence,
        remedies=[*([news.remedy] if news else []), *remedies],
        alternatives=[
            "cache misses or a busy sibling hyperthread slow this code (not measured here)",
            *(
                [f"{named[0].name} polls a flag in memory, and only looks like computing"]
                if named and named[0].part.share >= cpu_policy.one_loop_share
                else []
            ),
        ],
        verify=less(model, "cpu.user", ns),
    )


def _own_time(ns: int, error_ns: float) -> Evidence:
    text = f"{duration(ns)} of CPU time in its own code"
    return Evidence(text, float(ns), "ns", "ledger, split by ticks", error=error_ns)


def _outweighs(spot: Hot, garbage: Collection) -> bool:
    """Return whether code that somebody can call less takes more than the collector: no library, which may be the
    runtime that collects."""
    return spot.nameless_of is None and ".so" not in spot.name and spot.part.count > garbage.part.count


def _cpus(model: Model) -> str:
    """Return which CPUs help: more of them do nothing for one thread."""
    busiest_ns = max(map(cpu_ns, model.threads), default=0)
    alone = busiest_ns >= cpu_policy.one_thread_share * sum(map(cpu_ns, model.threads))
    return "a faster CPU" if alone else "more or faster CPUs"


def _where(collects: bool, main: MainWork | None, samples: CpuSamples) -> str:
    if collects:
        return " and collects garbage"
    if main and main.samples == "CPU":
        return f" {main.where}"
    return f" in its own code{_largest(samples.hottest(2))}"


def _largest(hottest: Sequence[Hot]) -> str:
    """Return the function that stands out though it is not most of the samples."""
    first = hottest[0] if hottest and hottest[0].nameless_of is None else None
    if first is None or first.name == UNKNOWN_CODE or first.part.share - first.part.error < cpu_policy.shared_out_share:
        return ""
    alone = all(2 * each.part.count <= first.part.count for each in hottest[1:])
    return f", above all in {first.name}" if alone else ""


def _threads(model: Model) -> list[Evidence]:
    busiest = sorted(model.threads, key=cpu_ns, reverse=True)[:3]
    text = ", ".join(f"{plain(t.comm)} {duration(cpu_ns(t))}" for t in busiest if cpu_ns(t))
    return [Evidence(f"{text} (busiest threads)", float(cpu_ns(busiest[0])), "ns", "ledger")] if text else []


def _shared_out(samples: CpuSamples) -> list[Evidence]:
    """Return inside which functions of the program many samples stand, though each in another one."""
    shared = samples.shared_out(cpu_policy.shared_out_share)
    return functions_evidence(shared, " of CPU samples, with what they call")


def _functions(samples: CpuSamples, whose: str) -> list[Evidence]:
    return code_evidence(samples, samples.hottest(), f" of {samples.count:,} CPU samples{whose}")
