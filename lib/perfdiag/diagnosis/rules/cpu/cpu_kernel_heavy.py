"""A rule on CPU time the kernel takes on the target's behalf, and what for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perfdiag.diagnosis.evidence.cpu.kernel_work import GENERAL, LOCK_SPINS, Work, remedies, work
from perfdiag.diagnosis.evidence.cpu.spinning import spinning
from perfdiag.diagnosis.evidence.cpu.stack_samples import ENOUGH, FUNCTIONS, PURPOSES, CpuSamples, Part, words
from perfdiag.diagnosis.evidence.cpu.time_split import NO_SPLIT, SPLIT_ERROR, sample_limits, split_error, split_limit
from perfdiag.diagnosis.evidence.target import CPU, again, subject
from perfdiag.diagnosis.rule import (
    Check,
    Confidence,
    Evidence,
    EvidenceKind,
    Finding,
    Mechanism,
    Outcome,
    Severity,
    Silence,
    rule,
)
from perfdiag.diagnosis.significance import FAULT_SHARE, duration, fault, fix, judged, percent, worth
from perfdiag.model.model import Model

# Kernel time is worth a name of its own from a fifth of the busy time, if it is also two fifths of the CPU time:
# below that the target's own code dominates its CPU time.
KERNEL_SHARE = 0.2
KERNEL_OF_CPU = 0.4
# CPUs waiting for each other inside the kernel's locks take under a percent of a healthy system's time.
LOCK_SPIN_SHARE = 0.1


@rule(
    "CPU-KERNEL-HEAVY",
    title="Kernel code takes most of the target's CPU time",
    accounts=("cpu.kernel",),
    meaning="At least two fifths of the CPU time is spent in the kernel on the target's behalf. What for is read from"
    " the sampled kernel stacks. For servers that mostly move data this is normal, and profile; CPUs that spin for"
    " each other in the kernel's locks are not, and a fault.",
    measured="CPU time split into user and kernel by ticks (error stated), joined with the kernel part of CPU stacks"
    " sampled at the scheduler's tick, over the whole window. Kernel time is a fault only where the lower end of the"
    " 95 % interval of samples in contended kernel locks reaches a tenth.",
    alternatives="An emulated device or a slow clock source (VIRT-EMULATED-DEVICE, VIRT-CLOCKSOURCE), a huge directory"
    " (DIR-HUGE), tracing or auditing of system calls by somebody else.",
    remedies="By what the stacks prove: larger buffers for many small reads and writes, an allocator that keeps memory,"
    " processes that stay, fewer look-ups of names, fewer packets; fewer threads on one file, socket or address space."
    " Where they prove nothing: fewer, larger system calls.",
    verify="Measure again: the share of cpu.kernel, and the functions named, must have shrunk.",
)
def kernel_heavy(model: Model) -> Iterable[Outcome]:
    """Join cpu.kernel with classes of sampled kernel functions, over the window."""
    kernel, cpu = _kernel_ns(model), model.ns(*CPU)
    samples = CpuSamples(model)
    spins = samples.inside(LOCK_SPINS)
    contended = samples.count >= ENOUGH and spins.share - spins.error >= LOCK_SPIN_SHARE
    if contended and worth(model, _spun_ns(model, spins)):
        yield _contended(model, samples, spins)
    elif kernel >= KERNEL_OF_CPU * cpu and kernel >= KERNEL_SHARE * model.busy_ns and worth(model, kernel):
        yield _profile(model, samples)
    else:
        yield _little(model)


def _kernel_ns(model: Model) -> int:
    """Return the time in the kernel, without what only asks for work: that is CPU-SPINNING."""
    return model.ns("cpu.kernel") - sum(loop.kernel_ns for loop in spinning(model))


def _spun_ns(model: Model, spins: Part) -> int:
    return min(_kernel_ns(model), round(spins.share * model.ns(*CPU)))


def _contended(model: Model, samples: CpuSamples, spins: Part) -> Finding:
    lock_ns = _spun_ns(model, spins)
    confidence, limits = judged(model, Confidence.MEDIUM, [])
    return Finding(
        "CPU-KERNEL-HEAVY",
        fault(model, lock_ns),
        confidence,
        f"CPUs wait for each other inside the kernel: {spins} of the CPU samples spin for a kernel lock that"
        " another CPU holds.",
        {"cpu.kernel": lock_ns},
        [
            Evidence(
                f"{spins.count:,} of {samples.count:,} CPU samples in contended kernel locks: {duration(lock_ns)}",
                float(lock_ns),
                "ns",
                FUNCTIONS,
                error=spins.error * model.ns(*CPU),
            ),
            *_paths(samples, work(samples)),
        ],
        [fix("fewer threads on the same file, socket, address space or cgroup at once: the path above names which")],
        alternatives=["in a guest: the CPU that held the lock was taken away by the host (see CPU-STOLEN)"],
        limits=limits,
        verify=f"{again(model)}: samples in contended kernel locks",
        headline="CPUs spin for a kernel lock that another CPU holds",
        mechanism=Mechanism.BUSY,
    )


def _little(model: Model) -> Outcome:
    """Return that the kernel takes no time worth a name, or that ticks are too few to say so."""
    kernel, cpu, error = _kernel_ns(model), model.ns(*CPU), split_error(model)
    of_cpu = kernel / cpu if cpu else 0.0
    coarse = error > SPLIT_ERROR and of_cpu + error >= KERNEL_OF_CPU
    if coarse and cpu * KERNEL_OF_CPU >= KERNEL_SHARE * model.busy_ns:
        return Silence(
            "CPU-KERNEL-HEAVY",
            f"kernel code takes {percent(of_cpu)} +-{percent(error)} of CPU time: too few ticks to tell user from"
            " kernel",
            f"record longer: {again(model, '--duration 60')}",
        )
    large = of_cpu >= FAULT_SHARE and worth(model, kernel)  # all of next to nothing is next to nothing
    text = f"kernel {duration(kernel)}, {percent(of_cpu)} of CPU time"
    if error > NO_SPLIT:
        text = f"kernel at most {duration(cpu)}, all CPU time: not told from user"
    return Check("CPU-KERNEL-HEAVY", text, of_cpu, "share", large=large)


def _profile(model: Model, samples: CpuSamples) -> Finding:
    """Time in the kernel departs from no norm by itself; what it is for tells what to do."""
    kernel, cpu, error = _kernel_ns(model), model.ns(*CPU), split_error(model)
    found = work(samples)
    most = "mostly" if found and found[0].part.share >= 0.5 else "the largest part"
    mostly = f", {most} for {found[0].name}" if found else ""
    confidence, limits = judged(
        model, Confidence.HIGH, [*sample_limits(model, samples, kernel=True), split_limit(error)]
    )
    return Finding(
        "CPU-KERNEL-HEAVY",
        Severity.INFO,
        confidence,
        f"{subject(model, begin=True)} computes in the kernel: {percent(kernel / model.busy_ns)} of its busy"
        f" time{mostly}.",
        {"cpu.kernel": kernel},
        [
            Evidence(
                f"{duration(kernel)} in the kernel of {duration(cpu)} on the CPU",
                float(kernel),
                "ns",
                "ledger, split by ticks",
                error=error * cpu,
            ),
            *_paths(samples, found),
        ],
        remedies(model, found) or [fix(GENERAL)],
        alternatives=["system calls traced, audited or filtered by somebody else"],
        limits=limits,
        verify=f"{again(model)}: time in cpu.kernel for the same work",
        headline=f"{subject(model, begin=True)} computes in the kernel",
        mechanism=Mechanism.WORK,
    )


def _paths(samples: CpuSamples, found: Sequence[Work]) -> list[Evidence]:
    """Return what the kernel works for, and the functions its samples stand in."""
    paths = []
    if found:
        parts = ", ".join(f"{each.name} {each.part}" for each in found)
        paths.append(Evidence(f"of kernel samples: {parts}", float(samples.count), "count", PURPOSES))
    hottest = samples.hottest(kernel=True) if samples.count >= ENOUGH else []
    if hottest:
        text = f"innermost: {words(hottest)} of {samples.count:,} CPU samples"
        first = hottest[0][1]
        paths.append(Evidence(text, first.share, "share", FUNCTIONS, error=first.error, kind=EvidenceKind.FUNCTIONS))
    return paths


__all__ = ["kernel_heavy"]
