"""CPU-KERNEL-HEAVY: the target computes in the kernel, and what for."""

from collections.abc import Iterable, Sequence

from perfdiag.diagnosis.evidence.cpu.call_path import code_evidence
from perfdiag.diagnosis.evidence.cpu.common_work import common_work
from perfdiag.diagnosis.evidence.cpu.kernel_work import (
    Work,
    is_foreign,
    is_known,
    parts_evidence,
    remedies,
    spins_for_a_lock,
    words,
    work,
)
from perfdiag.diagnosis.evidence.cpu.spinning import spinning
from perfdiag.diagnosis.evidence.cpu.stack_samples import (
    FUNCTIONS,
    CpuSamples,
    Part,
)
from perfdiag.diagnosis.evidence.cpu.time_split import sample_limits, split_error, split_limit
from perfdiag.diagnosis.evidence.fix_checks import less, part_under
from perfdiag.diagnosis.evidence.target import CPU, again, subject, who_computes
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import cpu_policy, general_policy
from perfdiag.diagnosis.rule import (
    Check,
    Confidence,
    Evidence,
    Finding,
    Mechanism,
    Outcome,
    Remedy,
    Silence,
    rule,
)
from perfdiag.diagnosis.significance import duration, fix, percent, worth
from perfdiag.model.model import Model


@rule(
    "CPU-KERNEL-HEAVY",
    title="Kernel code takes most of the target's CPU time",
    accounts=("cpu.kernel",),
    meaning=(
        "At least two fifths of the target's CPU time is kernel code; kernel stacks tell what for. Normal for servers"
        " with much I/O, and a profile. CPUs that spin for a kernel lock are a fault."
    ),
    measured=(
        "CPU time split into user and kernel by ticks, with kernel stacks sampled at the tick. A fault needs the"
        " lower end of the 95 % interval of samples in contended kernel locks at a tenth or more."
    ),
    alternatives=(
        "An emulated device or a slow clock source (VIRT-EMULATED-DEVICE, VIRT-CLOCKSOURCE), a huge directory"
        " (DIR-HUGE), or another tool that traces or audits system calls."
    ),
    remedies=(
        "As the stacks show: larger reads and writes, an allocator with more cached memory, fewer new processes, file"
        " look-ups or packets, or fewer threads on one file, socket or address space."
    ),
    verify="The same work takes less cpu.kernel, or the samples in contended kernel locks are gone.",
)
def kernel_heavy(model: Model) -> Iterable[Outcome]:
    """Join cpu.kernel with classes of sampled kernel functions, over the window."""
    kernel, cpu = _kernel_ns(model), model.ns(*CPU)
    samples = CpuSamples(model)
    spins = samples.part(spins_for_a_lock)
    contended = (
        samples.count >= cpu_policy.samples_for_function
        and spins.share - spins.error >= cpu_policy.kernel_lock_spin_share
    )
    if contended and worth(model, _spun_ns(model, spins)):
        yield _contended(model, samples, spins)
    elif (
        kernel >= cpu_policy.kernel_of_cpu_share * cpu
        and kernel >= cpu_policy.kernel_of_busy_share * model.busy_ns
        and worth(model, kernel)
    ):
        yield _profile(model, samples)
    else:
        yield _little(model)


def _kernel_ns(model: Model) -> int:
    """Return the time in the kernel without polling in a loop, which is CPU-SPINNING, and without perfdiag's probes."""
    recording_ns = round(CpuSamples(model).recording.share * model.ns(*CPU))
    return max(0, model.ns("cpu.kernel") - recording_ns - sum(loop.kernel_ns for loop in spinning(model)))


def _spun_ns(model: Model, spins: Part) -> int:
    return min(_kernel_ns(model), round(spins.share * model.ns(*CPU)))


def _contended(model: Model, samples: CpuSamples, spins: Part) -> Finding:
    lock_ns = _spun_ns(model, spins)
    return conclude(
        model,
        {"cpu.kernel": lock_ns},
        headline="CPUs spin for a kernel lock held by another CPU",
        claim=f"CPUs spin for a kernel lock held by another CPU in {spins} of the CPU samples.",
        mechanism=Mechanism.BUSY,
        best=Confidence.MEDIUM,
        evidence=[
            Evidence(
                f"{duration(lock_ns)}: {spins.count:,} of {samples.count:,} CPU samples in contended kernel locks",
                float(lock_ns),
                "ns",
                FUNCTIONS,
                error=spins.error * model.ns(*CPU),
            ),
            *_paths(samples, work(samples)),
        ],
        remedies=[fix("use fewer threads on the same file, socket, address space or cgroup (see the functions above)")],
        alternatives=["in a guest: the host stopped the virtual CPU with the lock (CPU-STOLEN)"],
        verify=part_under(
            model, "contended kernel locks", "CPU samples", spins.share, cpu_policy.kernel_lock_spin_share
        ),
    )


def _little(model: Model) -> Outcome:
    """Return the check of little kernel time, or the silence of too few ticks."""
    kernel, cpu, error = _kernel_ns(model), model.ns(*CPU), split_error(model)
    of_cpu = kernel / cpu if cpu else 0.0
    coarse = error > cpu_policy.split_error_share and of_cpu + error >= cpu_policy.kernel_of_cpu_share
    if coarse and cpu * cpu_policy.kernel_of_cpu_share >= cpu_policy.kernel_of_busy_share * model.busy_ns:
        return Silence(
            "CPU-KERNEL-HEAVY",
            f"too few ticks to tell user from kernel: kernel {percent(of_cpu)} +-{percent(error)} of CPU time",
            f"record longer: {again(model, '--duration 60')}",
        )
    large = of_cpu >= general_policy.fault_share and worth(model, kernel)  # all of next to nothing is next to nothing
    text = f"kernel {duration(kernel)}, {percent(of_cpu)} of CPU time"
    if error > cpu_policy.split_unknown_share:
        text = f"kernel at most {duration(cpu)} (too few ticks to tell it from user)"
    return Check("CPU-KERNEL-HEAVY", text, of_cpu, "share", large=large)


def _profile(model: Model, samples: CpuSamples) -> Finding:
    """Return the profile of kernel time: its purpose tells what to do."""
    kernel, cpu, error = _kernel_ns(model), model.ns(*CPU), split_error(model)
    found = work(samples)
    mostly = f"; {found[0].part} of it is {found[0].name}" if found else ""

    return conclude(
        model,
        {"cpu.kernel": kernel},
        headline=f"{who_computes(model)} is busy in the kernel{_for_what(samples, found)}",
        claim=(
            f"{subject(model, begin=True)} spends {percent(kernel / model.busy_ns)} of its busy time in the"
            f" kernel{mostly}."
        ),
        mechanism=Mechanism.WORK,
        departs=any(is_foreign(each.name) and each.proven for each in found),
        doubts=[*sample_limits(model, samples, kernel=True), split_limit(error)],
        evidence=[
            Evidence(
                f"{duration(kernel)} of {duration(cpu)} of CPU time in the kernel",
                float(kernel),
                "ns",
                "ledger, split by ticks",
                error=error * cpu,
            ),
            *_paths(samples, found),
        ],
        remedies=_remedies(model, samples, found),
        alternatives=["another tool traces, audits or filters system calls"],
        verify=less(model, "cpu.kernel", kernel),
    )


def _remedies(model: Model, samples: CpuSamples, found: Sequence[Work]) -> list[Remedy]:
    """Return what helps against the calls, behind what does against them and the program's own part of the work."""
    both = common_work(model)
    of_calls = remedies(model, samples, found) or ([] if both else [fix(_general(samples))])
    return [*([both.remedy] if both else []), *of_calls]


def _general(samples: CpuSamples) -> str:
    """Return what helps against calls of no known kind, with who makes them."""
    caller = samples.calls_from()[1] if samples.count >= cpu_policy.samples_for_function else ""
    return f"make fewer, larger system calls{f' in {caller}' if caller else ''}, and reuse memory"


def _mostly_in(samples: CpuSamples, work: Work) -> str:
    """Return the function in which most of a call stands that is of no known kind, "" if none stands out."""
    hottest = next(iter(samples.hottest(1, kernel=True)), None)
    kernel = sum(stack.count for stack in samples.stacks if stack.kernel)
    stands_out = hottest and hottest.part.count >= cpu_policy.hot_spot_share * kernel
    return f", mostly {hottest.name}()" if hottest and stands_out and not is_known(work.name) else ""


def _for_what(samples: CpuSamples, found: Sequence[Work]) -> str:
    """Return ": mapping and unmapping memory" where that is most of it, else the largest kinds with their parts."""
    if not found:
        return ""
    if found[0].part.share >= cpu_policy.hot_spot_share:
        return f": {found[0].name}{_mostly_in(samples, found[0])}"
    return f": {words(found)}"


def _paths(samples: CpuSamples, found: Sequence[Work]) -> list[Evidence]:
    """Return the purposes of kernel work, and the innermost functions."""
    return [
        *parts_evidence(samples, found),
        *code_evidence(samples, samples.hottest(kernel=True), f" of {samples.count:,} CPU samples"),
    ]
