"""The share of CPU time in a runtime's garbage collector, from sampled stacks and thread names."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from perfdiag.common.by_key import sums_by_key
from perfdiag.diagnosis.evidence.cpu.stack_samples import PURPOSES, CpuSamples, Hot, Part, part_of
from perfdiag.diagnosis.policy import cpu_policy
from perfdiag.diagnosis.rule import Evidence, Remedy
from perfdiag.diagnosis.significance import fix, plain
from perfdiag.model.model import Model
from perfdiag.model.stacks import scripts
from perfdiag.model.stacks.symbols import symbol_of
from perfdiag.recording import schema

COLLECTS = "collects garbage"  # what a thread mostly does


@dataclass(frozen=True)
class Collector:
    """A runtime's garbage collector: whose it is, names of its functions and threads, and what helps."""

    runtime: str
    functions: str
    threads: str
    advice: str


_COLLECTORS = (
    Collector(
        "Java",
        r".*(G1ParScan|G1ParEvacuat|PSScavenge|PSPromotion|PSParallelCompact|DefNewGeneration|GenMarkSweep|SerialFullGC"
        r"|TenuredGeneration|VM_G1Collect|VM_GenCollect).*",
        r"GC Thread#|G1 |ParGC|Z(Driver|Worker|Director)|ZGC|Shenandoah|CMS ",
        "see how often it collects and how full the heap is: jstat -gcutil PID 1s; raise -Xmx, or allocate less"
        " (async-profiler -e alloc)",
    ),
    Collector(
        "Go",
        r"runtime\.(gcBgMarkWorker|gcDrain|gcAssistAlloc|bgsweep|bgscavenge|gcMarkDone|gcStart|gcMarkTermination).*",
        "",
        "see how often it collects: GODEBUG=gctrace=1; allocate less (pprof allocs), or spend memory: a larger GOGC"
        " with GOMEMLIMIT",
    ),
    Collector(
        "V8",
        r"_ZN\w*2v88internal.*(MarkCompactCollector|Scaveng|ConcurrentMarking|MarkingVisitor|Sweeper|CollectGarbage).*",
        "",
        "see how often it collects and how full the heap is: node --trace-gc; raise --max-old-space-size, or"
        " --max-semi-space-size where most are scavenges, or allocate less",
    ),
    Collector(
        "Python",
        r"gc_collect_(main|generations|region|with_callback)|_PyGC_(Collect|RunGarbage).*",
        "",
        "see how often it collects: gc.set_debug(gc.DEBUG_STATS); gc.freeze() after start, or raise gc.set_threshold()",
    ),
    Collector(
        ".NET",
        r"_ZN3(WKS|SVR)7gc_heap.*",
        r"\.NET (Server )?GC",
        "see how often it collects: dotnet-counters monitor -p PID",
    ),
)
_ANY = re.compile("|".join(f"(?:{each.functions})" for each in _COLLECTORS))


@dataclass(frozen=True)
class Collection:
    """The part of the CPU samples that a garbage collector takes."""

    collector: Collector
    part: Part
    functions: frozenset[str]  # of all that stacks of the target show, those of the collector
    helpers: frozenset[int]  # threads that hardly do anything else
    named: int  # of these, those that it gives names of its own
    remedy: Remedy

    @property
    def evidence(self) -> Evidence:
        """Return it as evidence."""
        return self.evidence_of("")

    def evidence_of(self, threads: str) -> Evidence:
        """Return it as evidence of the samples " of the threads that ..."."""
        whose = f" in its {self.named} threads" if self.named > 1 else ""
        text = f"{self.part} of CPU samples{threads} collect garbage{whose}"
        return Evidence(text, self.part.share, "share", PURPOSES, error=self.part.error)

    def allocator(self, samples: CpuSamples) -> Hot | None:
        """Return the program's own function out of which most collections in its threads come, if there is one: who
        allocates most is interrupted by most.  The part is of those samples whose callers are known."""
        counts: Counter[str] = Counter()
        for stack in samples.stacks:
            if self.collects(stack) and stack.tid not in self.helpers:
                counts.update({name: stack.count for name in scripts.own_functions(stack)[:1]})
        whole = counts.total()
        if whole < cpu_policy.samples_for_function:
            return None
        (name, count), *_ = counts.most_common(1)
        part = part_of(count, whole)
        return Hot(plain(name), part) if part.share >= cpu_policy.hot_spot_share else None

    def collects(self, stack: schema.Stack) -> bool:
        """Return whether a stack is inside the collector."""
        return stack.tid in self.helpers or not self.functions.isdisjoint(stack.user)


def collection(model: Model, samples: CpuSamples) -> Collection | None:
    """Return the garbage collector with the most CPU samples, if it is worth reporting."""
    if samples.count < cpu_policy.samples_for_function:
        return None
    comms = {thread.tid: thread.comm for thread in model.threads if thread.tid}
    names = {name for stack in model.stacks for name in stack.user}
    names = {name for name in names if _ANY.fullmatch(symbol_of(name))}
    most = max((_by(each, samples, comms, names) for each in _COLLECTORS), key=lambda each: each.part.share)
    return most if most.part.share - most.part.error >= cpu_policy.collector_share else None


def _by(collector: Collector, samples: CpuSamples, comms: Mapping[int, str], names: Iterable[str]) -> Collection:
    """Return what a collector takes; `names`: the functions of all collectors that stacks show."""
    own = {tid for tid, comm in comms.items() if collector.threads and re.match(collector.threads, comm)}
    functions = frozenset(name for name in names if re.fullmatch(collector.functions, symbol_of(name)))

    def collects(stack: schema.Stack) -> bool:
        return stack.tid in own or not functions.isdisjoint(stack.user)

    stacks = [stack for stack in samples.stacks if collects(stack)]
    pids = {stack.pid for stack in stacks}
    advice = collector.advice.replace("PID", str(*pids)) if len(pids) == 1 else collector.advice
    whole, inside = _by_thread(samples.stacks), _by_thread(stacks)
    helpers = {tid for tid, count in inside.items() if count >= cpu_policy.collector_thread_share * whole[tid]}
    named = len({stack.tid for stack in stacks} & own)
    return Collection(collector, samples.part(collects), functions, frozenset(helpers | own), named, fix(advice))


def _by_thread(stacks: Iterable[schema.Stack]) -> Counter[int]:
    return sums_by_key((stack.tid, stack.count) for stack in stacks)
