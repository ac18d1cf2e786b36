"""Short-lived processes: how many a second, and how much CPU time starting and ending them takes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perfdiag.common.by_key import sums_by_key
from perfdiag.diagnosis.evidence.cpu.stack_samples import PURPOSES, CpuSamples, Part
from perfdiag.diagnosis.evidence.target import CPU, cpu_ns
from perfdiag.diagnosis.policy import cpu_policy, local_policy
from perfdiag.diagnosis.rule import Claim, Evidence
from perfdiag.diagnosis.significance import duration, percent, plain, worth
from perfdiag.model.model import Model
from perfdiag.model.thread_accounts import ThreadLedger
from perfdiag.recording import schema
from perfdiag.recording.accounts import OF_CPUS, PIPE

# Fewer, or in less time, are how a command begins, and no rate.
ENOUGH_STARTS, ENOUGH_NS = 20, 100_000_000
# Kernel functions that start or end a process, whoever runs them.
STARTING = (
    "kernel_clone",
    "copy_process",
    "__do_sys_vfork",
    "__x64_sys_fork",
    "ret_from_fork",
    "do_execveat_common",
    "bprm_execve",
    "do_exit",
    "do_group_exit",
    "exit_mmap",
    "release_task",
)
# In a process that lives for moments, filling its memory and mapping its libraries is part of the start.
FILLING = ("exc_page_fault", "asm_exc_page_fault", "vm_mmap_pgoff", "__vm_munmap", "do_mprotect_pkey")
LOADERS = ("(ld-linux", "(ld-musl", "(ld.so", "(ld-2")


@dataclass(frozen=True)
class Churn:
    """The short-lived processes of the window."""

    processes: int
    per_second: float
    life_ns: float  # mean
    cpu_ns: float  # mean of one process
    names: Sequence[str]
    programs: int  # exec
    cost: Part  # of the CPU samples: starting and ending
    samples: int
    user_ns: int  # what starting and ending took: the time those samples stand for, or all of such lives
    kernel_ns: int
    waited: Mapping[Claim, int]  # at pipes, by account and key, until such a process wrote or ended

    @property
    def nothing_else(self) -> bool:
        """Whether the processes use so little CPU time that starting and ending them is all they do."""
        return self.cpu_ns <= local_policy.start_cpu_ns

    @property
    def rate(self) -> str:
        """Return their number in words."""
        return f"{self.processes:,} processes, {self.per_second:,.0f} a second"

    def evidence(self) -> list[Evidence]:
        """Return the evidence for the claim."""
        programs = f", {self.programs:,} programs started (exec)" if self.programs else ""
        found = [
            Evidence(
                f"{self.rate}{programs}: {', '.join(self.names)}; each lived {duration(self.life_ns)} and took"
                f" {duration(self.cpu_ns)} of CPU time on average",
                float(self.processes),
                "count",
                "ledger",
            )
        ]
        # Of lives that are nothing else all time is counted: the samples that show it are less than that.
        if self.samples >= cpu_policy.samples_for_function and not self.nothing_else:
            found.append(
                Evidence(
                    f"{self.cost.count:,} of {self.samples:,} CPU samples start or end a process (fork, exec, loader,"
                    f" first touch of its memory, exit): at least {percent(self.cost.share)}",
                    self.cost.share,
                    "share",
                    PURPOSES,
                    error=self.cost.error,
                )
            )
        return found


def churn(model: Model) -> Churn | None:
    """Return the short-lived processes of the window if they are many and take enough time."""
    short = [t for t in model.threads if t.exited and t.wall_ns < local_policy.short_life_ns * max(t.processes, 1)]
    processes = sum(thread.processes for thread in short)
    seconds = model.window_ns / 1e9
    few = processes < ENOUGH_STARTS or model.window_ns < ENOUGH_NS
    if few or processes < local_policy.starts_per_second * seconds or not worth(model, sum(map(cpu_ns, short))):
        return None
    samples = CpuSamples(model)
    ended = set(map(id, short))  # by identity: comparing threads field by field takes seconds for thousands
    lasting = {thread.pid for thread in model.threads if id(thread) not in ended}
    stacks = [stack for stack in samples.stacks if _starts(stack, lasting)]
    cost = samples.part(lambda stack: _starts(stack, lasting))
    enough = samples.count >= cpu_policy.samples_for_function
    kernel = sum(stack.count for stack in stacks if stack.kernel) / samples.count if enough else 0.0
    ran_ns, each_ns = model.ns(*CPU), sum(map(cpu_ns, short)) / processes
    user_ns = min(round((cost.share - kernel) * ran_ns), model.ns("cpu.user")) if enough else 0
    kernel_ns = min(round(kernel * ran_ns), model.ns("cpu.kernel"))
    if each_ns <= local_policy.start_cpu_ns:
        user_ns, kernel_ns = (sum(t.ns(name) for t in short) for name in CPU)
    return Churn(
        processes=processes,
        per_second=processes / seconds,
        life_ns=sum(thread.wall_ns for thread in short) / processes,
        cpu_ns=each_ns,
        names=_names(short),
        programs=sum(event.name == "exec" for event in model.events),
        cost=cost,
        samples=samples.count,
        user_ns=user_ns,
        kernel_ns=kernel_ns,
        waited=_waited(model, {thread.tid for thread in model.threads if id(thread) not in ended}),
    )


def _waited(model: Model, lasting: set[int]) -> dict[Claim, int]:
    """Return how long others waited at pipes while a process that has ended since ran, or was ready to."""
    found: Counter[Claim] = Counter()
    for chain in model.chains:
        tid = chain.root_tid or chain.some_tid
        runs = chain.root.startswith(OF_CPUS)
        if chain.account == PIPE and runs and tid and tid not in lasting and not chain.inside:
            found[chain.account, chain.key] += chain.ns
    return dict(found)


def _starts(stack: schema.Stack, lasting: set[int]) -> bool:
    if any(function.startswith(STARTING) for function in stack.kernel):
        return True
    if stack.pid in lasting:
        return False
    if stack.kernel:
        return any(function.startswith(FILLING) for function in stack.kernel)
    return any(loader in frame for frame in stack.user for loader in LOADERS)


def _names(short: Sequence[ThreadLedger]) -> list[str]:
    numbers = sums_by_key((thread.comm, thread.processes) for thread in short)
    largest = sorted(numbers.items(), key=lambda item: (-item[1], item[0]))[:3]
    return [f"{plain(comm)} ({number:,})" for comm, number in largest if number]
