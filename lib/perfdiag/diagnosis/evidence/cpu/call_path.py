"""The path of calls that most sampled stacks share, outermost first: what a flame graph shows at a glance.

The hottest function is often nobody's own, as an allocator or a copy is, and a wait begins in the C library; what can
be changed is further out, where the path is still wide.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from perfdiag.common.by_key import sums_by_key
from perfdiag.common.confidence import half_width
from perfdiag.diagnosis.evidence.cpu.stack_samples import (
    FUNCTIONS,
    CpuSamples,
    Hot,
    functions_evidence,
)
from perfdiag.diagnosis.policy import cpu_policy
from perfdiag.diagnosis.rule import Evidence, EvidenceKind
from perfdiag.diagnosis.significance import percent, plain
from perfdiag.model.stacks import scripts
from perfdiag.model.stacks.symbols import is_named, module_of, of_system, readable, schedules, starts, symbol_of
from perfdiag.recording import schema

SHOWN = 7  # functions
SHOWN_OF_STEP = 3  # the innermost of those that about as many samples are below

Walk = tuple[Sequence[str], int]  # functions, innermost first, each once; how much the stack stands for


@dataclass(frozen=True)
class Step:
    """Functions that call each other and below which about the same samples stand, outermost first."""

    names: Sequence[str]
    share: float  # of all samples, or of their time, below the innermost


def walk(stack: schema.Stack, interpreters: Collection[str]) -> list[str]:
    """Return the functions on a stack, innermost first, each once, without what interprets a script and what starts
    threads, as everything is below these; of its language only what the script itself calls last."""

    def is_told(frame: str) -> bool:
        carries_others = scripts.is_of(module_of(frame), interpreters) or schedules(frame) or starts(frame)
        return is_named(frame) and not carries_others

    frames = list(filter(is_told, scripts.through_libraries(stack, interpreters)))
    own = [place for place, frame in enumerate(frames) if not scripts.of_language(frame)]
    called = next((place - 1 for place in own if scripts.is_line(frames[place])), -1)
    return list(dict.fromkeys(readable(frames[place]) for place in sorted({*own, called} - {-1})))


def call_path(walks: Iterable[Walk], whole: int) -> list[Step]:
    """Return the steps by which the path narrows, outermost first; `whole` is what all walks stand for, and those of
    other code.

    From each function on the one that most of what is below it shares is next, the outermost of several: where the
    walk of a stack was lost and it was scanned, some samples lack a caller.
    """
    left, steps = _shared(walks, whole), list[Step]()
    while found := _next(left, whole):
        name, share = found
        if steps and share >= cpu_policy.same_path_share * steps[-1].share:
            steps[-1] = Step([*steps[-1].names, name], share)
        else:
            steps.append(Step([name], share))
        left = [(names[: names.index(name)], weight) for names, weight in left if name in names]
    return steps


def _shared(walks: Iterable[Walk], whole: int) -> list[Walk]:
    """Return the walks without functions that are on too few stacks to be on the path; equal ones are added up."""
    kept = [(names, weight) for names, weight in walks if weight]
    on_stacks = sums_by_key((name, weight) for names, weight in kept for name in names)
    enough = {name for name, weight in on_stacks.items() if weight >= cpu_policy.call_path_share * whole}
    return list(sums_by_key((tuple(filter(enough.__contains__, names)), weight) for names, weight in kept).items())


def _next(walks: Sequence[Walk], whole: int) -> tuple[str, float] | None:
    weights: Counter[str] = Counter()
    places: Counter[str] = Counter()  # how far out, times the weight
    for names, weight in walks:
        for place, name in enumerate(names):
            weights[name] += weight
            places[name] += place * weight
    most, least = max(weights.values(), default=0), cpu_policy.call_path_share * whole
    if not most or most < least:
        return None
    near = [name for name, weight in weights.items() if weight >= max(least, cpu_policy.same_path_share * most)]
    name = max(near, key=lambda each: (places[each] / weights[each], weights[each], each))
    return name, weights[name] / whole


def path_words(steps: Sequence[Step]) -> str:
    """Return "mdb_modify (back_mdb.so) 76 % > attrs_dup (slapd) > ber_dupbv_x (liblber.so) 34 %": each module once."""
    told = [[*step.names[-SHOWN_OF_STEP:]] for step in steps]
    while sum(map(len, told)) > SHOWN:
        longest = max(told, key=len)
        del (longest if len(longest) > 1 else told[0])[0]
    texts: list[str] = []
    module = ""
    for names, step in zip(told, steps, strict=True):
        for name in names:
            own, shown = module_of(name), plain(name)
            texts.append(symbol_of(shown) if own and own == module else shown)
            module = own
        if names:
            texts[-1] += f" {percent(step.share)}"
    return " > ".join(texts)


def path_evidence(steps: Sequence[Step], count: int, of: str) -> list[Evidence]:
    """Return a path of calls as evidence, `of` what and of how many samples; none without one."""
    if all(of_system(name) for step in steps for name in step.names):
        return []  # everybody waits and copies in the C library
    text = f"calls: {path_words(steps)} of {of}"
    share = steps[-1].share
    return [Evidence(text, share, "share", FUNCTIONS, half_width(share, count), kind=EvidenceKind.CALLS)]


def cpu_path(samples: CpuSamples) -> list[Step]:
    """Return the path of calls of CPU samples; none of too few."""
    if samples.count < cpu_policy.samples_for_function:
        return []
    return call_path(((walk(each, samples.interpreters), each.count) for each in samples.stacks), samples.count)


def code_evidence(samples: CpuSamples, hottest: Sequence[Hot], of: str = "") -> list[Evidence]:
    """Return the path of calls, where it says more than the hottest functions, and these, `of` which samples."""
    steps, said = cpu_path(samples), {each.name for each in hottest}
    told = [] if all(plain(name) in said for step in steps for name in step.names) else steps
    return [*path_evidence(told, samples.count, "CPU samples"), *functions_evidence(hottest, of)]
