"""Purposes of kernel time, from sampled kernel stacks, with a remedy for each."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from perfdiag.common.by_key import sums_by_key
from perfdiag.diagnosis.evidence.cpu.c_library import library_call
from perfdiag.diagnosis.evidence.cpu.kernel_work_kinds import AWAITED, KINDS, LOCAL_SOCKETS, LOCK_SPINS, Kind
from perfdiag.diagnosis.evidence.cpu.stack_samples import PURPOSES, CpuSamples, Part, part_of
from perfdiag.diagnosis.policy import cpu_policy
from perfdiag.diagnosis.rule import Evidence, Remedy
from perfdiag.diagnosis.significance import fix, percent, plain, size
from perfdiag.model.model import Model, once
from perfdiag.model.stacks.symbols import REMEMBERED, any_begins, module_of, symbol_of
from perfdiag.recording import schema

_OF_PIPES = ("anon_pipe_", "pipe_read", "pipe_write")
_AT_POSITION = ("pread", "pwrite", "__pread", "__pwrite", "__libc_pread", "__libc_pwrite", "preadv", "pwritev")
_NEAR_SPIN = 4  # functions: further out a pipe is what the lock below it is taken for
_BY_NAME = {kind.name: kind for kind in KINDS}
INNERMOST = 2  # functions of a wait that tell what it is for: those further out are part of many
_SCHEDULING = (
    *("finish_task_switch", "__schedule", "schedule", "io_schedule"),
    *("do_wait_for_common", "__wait_for_common", "wait_for_common", "wait_for_completion"),
)


@dataclass(frozen=True)
class Work:
    """A kind of work with its part of the kernel's samples."""

    name: str
    part: Part
    remedy: str

    @property
    def proven(self) -> bool:
        """Whether enough samples show that it is a good part of the kernel's time."""
        least = self.part.share - self.part.error
        return self.part.count >= cpu_policy.samples_for_function and least >= cpu_policy.kernel_work_share


def work(samples: CpuSamples, of: Callable[[schema.Stack], bool] = lambda _: True) -> list[Work]:
    """Return the purposes of kernel time, or of some of its samples, the largest first; none from too few samples."""
    counts = _counts(samples, of)
    inside = sum(counts.values())
    ranked = sorted((item for item in counts.items() if item[0]), key=lambda item: -item[1])
    return [Work(name, part_of(count, inside), remedy_of(name)) for name, count in ranked[:3]]


def words(found: Sequence[Work]) -> str:
    """Return kinds of work with their parts: "files 42 %, looking up file names 30 %"."""
    return ", ".join(f"{each.name} {percent(each.part.share)}" for each in found)


def parts_evidence(samples: CpuSamples, found: Sequence[Work]) -> list[Evidence]:
    """Return what kernel time is for, largest first; none where that is unknown."""
    if not found:
        return []
    parts = ", ".join(f"{each.part} {each.name}" for each in found)
    return [Evidence(f"{parts} (of kernel samples)", float(samples.count), "count", PURPOSES)]


@once
def parts_of_work(model: Model) -> Mapping[str, float]:
    """Return the part of kernel time for each purpose, 0 to 1; nothing from too few samples."""
    counts = _counts(CpuSamples(model), lambda _: True)
    return {name: count / sum(counts.values()) for name, count in counts.items()}


def _counts(samples: CpuSamples, of: Callable[[schema.Stack], bool]) -> dict[str, int]:
    """Return the number of samples by purpose, nothing of too few."""
    stacks = samples.stacks if samples.count >= cpu_policy.samples_for_function else ()
    return sums_by_key((_purpose(stack.kernel), stack.count) for stack in stacks if stack.kernel and of(stack))


def awaited(stacks: Sequence[schema.Stack]) -> Kind | None:
    """Return what most of the time of sampled waits is for, by the functions that they stand in themselves."""
    return _of_most((_any_kind(_innermost(stack)), stack.weight_ns) for stack in stacks)


def awaited_in(function: str) -> Kind | None:
    """Return what a wait in a function of the kernel is for."""
    return _awaited_kind([function])


def around(stacks: Sequence[schema.Stack]) -> Kind | None:
    """Return the work that most of the time of sampled waits is a part of, if it is of a kind that explains them."""
    return _of_most((_whole_kind(stack.kernel), stack.weight_ns) for stack in stacks)


def _innermost(stack: schema.Stack) -> Sequence[str]:
    return waiting_in(stack)[:INNERMOST]


def waiting_in(stack: schema.Stack) -> Sequence[str]:
    """Return the functions of a wait without those in which every thread gives its CPU up, innermost first."""
    return [name for name in stack.kernel if not name.startswith(_SCHEDULING)]


def _finder(kinds: Sequence[Kind]) -> Callable[[Iterable[str]], Kind | None]:
    """Return what finds the first of some kinds that a function of a stack belongs to. Each function is judged once:
    stacks share them, and most belong to none."""
    anything = tuple(prefix for kind in kinds for prefix in kind.functions)

    @lru_cache(maxsize=REMEMBERED)
    def place(function: str) -> int:
        if not function.startswith(anything):
            return len(kinds)
        return next(index for index, kind in enumerate(kinds) if function.startswith(kind.functions))

    def first(functions: Iterable[str]) -> Kind | None:
        found = min(map(place, functions), default=len(kinds))
        return kinds[found] if found < len(kinds) else None

    return first


_any_kind, _kind, _awaited_kind = map(_finder, (AWAITED + KINDS, KINDS, AWAITED))
_whole_kind = _finder([kind for kind in KINDS if kind.whole])


def _of_most(parts: Iterable[tuple[Kind | None, int]]) -> Kind | None:
    """Return the kind that has more than half of the time, None where that is no known one."""
    weights = sums_by_key(parts)
    most = max(weights, key=lambda kind: weights[kind], default=None)
    return most if 2 * weights[most] > weights.total() else None


def remedy_of(name: str) -> str:
    """Return the remedy of a kind of work, "" where it has none."""
    return _BY_NAME[name].remedy if name in _BY_NAME else ""


def is_foreign(name: str) -> bool:
    """Return whether others have the target do a kind of work, which is of no use to it."""
    return name in _BY_NAME and _BY_NAME[name].foreign


def is_known(name: str) -> bool:
    """Return whether a purpose is a kind of work, and no mere system call."""
    return name in _BY_NAME


def remedies(model: Model, samples: CpuSamples, found: Sequence[Work]) -> list[Remedy]:
    """Return the remedies for proven kinds of work."""
    proven = [each for each in found if each.proven]
    small = _small_calls(model, samples) if any(each.name in ("files", LOCAL_SOCKETS) for each in proven) else ""
    told = (_remedy(model, samples, each) for each in proven)
    return [fix(text) for text in dict.fromkeys([small, *told]) if text]


def _remedy(model: Model, samples: CpuSamples, of: Work) -> str:
    """Return the remedy of a kind of work: of the library's call that makes most of it, else with what its program
    calls that."""
    call = library_call(samples, lambda stack: _purpose(stack.kernel) == of.name)
    settings = _BY_NAME[of.name].settings if of.name in _BY_NAME else {}
    comms = {thread.comm for thread in model.threads}
    known = {words for name, words in settings.items() if any(comm.startswith(name) for comm in comms)}
    return call.remedy if call else "; ".join([of.remedy, *sorted(known)])


def _small_calls(model: Model, samples: CpuSamples) -> str:
    """Return the remedy for tiny reads and writes, "" if calls are few, larger or not counted. Buffers do not change
    calls at a position (pread), and a library's are not its user's."""
    facts = model.facts.processes.values()
    calls = sum((process.read_calls or 0) + (process.write_calls or 0) for process in facts)
    moved = sum((process.read_characters or 0) + (process.written_characters or 0) for process in facts)
    if calls * 1e9 < cpu_policy.calls_per_second * model.window_ns or moved >= cpu_policy.small_call_bytes * calls:
        return ""
    moves = f"{calls:,} reads and writes moved {size(moved / calls)} each"
    call, caller = samples.calls_from()
    if ".so" in module_of(caller):
        return f"find what makes {caller} read and write so little at a time, as a setting of its own may: {moves}"
    buffers = "" if symbol_of(call).startswith(_AT_POSITION) else " (setvbuf, BufferedWriter, bufio)"
    return f"read and write more at a time{f' in {caller}' if caller else ''}{buffers}: {moves}"


def spins_at_pipe(functions: Sequence[str]) -> bool:
    """Return whether a kernel stack spins for the lock of a pipe: its two ends take turns there, as they do where one
    process writes much for another. That is a part of the transfer, and no lock that somebody could split."""
    return any_begins(functions, LOCK_SPINS) and any_begins(functions[:_NEAR_SPIN], _OF_PIPES)


def spins_for_a_lock(stack: schema.Stack) -> bool:
    """Return whether a sample stands in the spinning for another lock of the kernel."""
    return any_begins(stack.kernel, LOCK_SPINS) and not spins_at_pipe(stack.kernel)


def _purpose(functions: Sequence[str]) -> str:
    """Return what a kernel stack works for: the first known kind, else its system call, else nothing."""
    if spins_at_pipe(functions):
        return LOCAL_SOCKETS
    if kind := _kind(functions):
        return kind.name
    calls = (function.removeprefix("__x64_sys_") for function in functions if function.startswith("__x64_sys_"))
    return next((f"{plain(call)}()" for call in calls), "")
