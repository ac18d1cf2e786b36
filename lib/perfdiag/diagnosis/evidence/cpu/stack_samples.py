"""Sampled CPU stacks: functions by share of CPU time, with the sampling error."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from msgspec.structs import replace

from perfdiag.common.by_key import sums_by_key
from perfdiag.common.confidence import half_width
from perfdiag.diagnosis.evidence.cpu.own_probes import in_own_probe
from perfdiag.diagnosis.policy import cpu_policy
from perfdiag.diagnosis.rule import Claim, Evidence, EvidenceKind
from perfdiag.diagnosis.significance import percent, plain
from perfdiag.model.model import Model, once
from perfdiag.model.stacks import scripts
from perfdiag.model.stacks.symbols import any_begins, is_named, module_of, of_system, readable
from perfdiag.recording import schema

# The probes of evidence from samples: functions they stand in, and what for.
FUNCTIONS, PURPOSES = "stack samples", "stack samples, by purpose"

UNKNOWN_CODE = "unknown code"  # of a stack without frames
_UNKNOWN = (UNKNOWN_CODE, None)

# The accounts whose time the samples stand for: the tick also hits interrupts.
SAMPLED = ("cpu.user", "cpu.kernel", "cpu.irq")
INTERRUPT = (
    "__do_softirq",
    "handle_softirqs",
    "irq_exit_rcu",
    "__irq_exit_rcu",
    "common_interrupt",
    "__handle_irq_event_percpu",
    "handle_irq_event",
)


@dataclass(frozen=True)
class Part:
    """A part of the samples and the half width of its 95 % interval; with none at all, what could have been missed."""

    share: float
    error: float
    count: int

    def __str__(self) -> str:
        return f"{percent(self.share)} +-{percent(self.error)}"


@dataclass(frozen=True)
class Hot:
    """Code that samples stand in: a function, a library, or all of a module's code that has no names."""

    name: str
    part: Part
    nameless_of: str | None = None  # code without names: its module, "" if unknown

    def __str__(self) -> str:
        return f"{self.name} {self.part}"


class CpuSamples:
    """The CPU samples of the target's own running; those inside memory reclaim belong to other accounts.  Those inside
    perfdiag's own probes are counted, because their time is in cpu.*, and are no work of the target."""

    def __init__(self, model: Model, *pids: int, tids: Collection[int] | None = None, long_turns: bool = False) -> None:
        """Take the samples of some processes, or of all; on request only those of some threads, or from long turns of
        serving threads."""
        of_pids = (stack for pid in pids for stack in model.stacks_of(pid))
        stacks: Sequence[schema.Stack] = [
            stack
            for stack in (of_pids if pids else model.stacks)
            if stack.kind == "cpu" and stack.account.startswith("cpu.") and (tids is None or stack.tid in tids)
        ]
        if long_turns:
            stacks = [replace(stack, count=stack.long_turn_count) for stack in stacks if stack.long_turn_count]
        self.count = sum(stack.count for stack in stacks)
        self.interpreters = {each.file for each in model.interpreters}
        of_recording = in_own_probe(model)
        self.stacks = [stack for stack in stacks if not of_recording(stack)]
        self.recording = self._part(self.count - sum(stack.count for stack in self.stacks))

    def part(self, matches: Callable[[schema.Stack], bool]) -> Part:
        """Return the part of the samples that match."""
        return self._part(sum(stack.count for stack in self.stacks if matches(stack)))

    def inside(self, prefixes: Sequence[str]) -> Part:
        """Return the part with a kernel function that begins with one of `prefixes` anywhere on the stack."""
        wanted = tuple(prefixes)
        return self.part(lambda stack: any_begins(stack.kernel, wanted))

    def hottest(self, number: int = 3, *, kernel: bool = False, of_few: bool = False) -> list[Hot]:
        """Return the functions most samples stand in themselves, of user space or of the kernel; none of too few
        samples to name functions, but on request.

        What has no name is summed up by module: single addresses would hide how much it is.
        """
        if self.count < cpu_policy.samples_for_function and not of_few:
            return []
        stacks = (each for each in self.stacks if bool(each.kernel) is kernel)
        counts = sums_by_key((self._innermost(each), each.count) for each in stacks)
        return [
            Hot(plain(name), self._part(count), None if module is None else plain(module))
            for (name, module), count in counts.most_common(number)
        ]

    def hot_spot(self) -> Hot | None:
        """Return the function, else the library, in which most of the samples stand.

        A compiler or an interpreter spreads its time over hundreds of functions, none of which is hot.
        """
        found = [*self.hottest(1), *self._hottest_library()] if self.count >= cpu_policy.samples_for_function else []
        return next((each for each in found if each.part.share >= cpu_policy.hot_spot_share), None)

    def _hottest_library(self) -> list[Hot]:
        counts: Counter[str] = Counter()
        for stack in self.stacks:
            if stack.kernel or not stack.user:
                continue
            module = module_of(stack.user[0])
            if package := scripts.java_library(stack):
                counts[package] += stack.count
            elif ".so" in module and module not in self.interpreters and not of_system(stack.user[0]):
                counts[module] += stack.count
        return [Hot(plain(name), self._part(count)) for name, count in counts.most_common(1)]

    def hot_path(self) -> list[Hot]:
        """Return the target's own functions below which most of the samples stand, the innermost first: a parser or a
        compiler of regular expressions spreads over many functions, and what calls it is what the program can change.
        """
        sampled = self.stacks if self.count >= cpu_policy.samples_for_function else []
        paths = [(list(dict.fromkeys(scripts.own_callers(scripts.code(stack)))), stack.count) for stack in sampled]
        counts = sums_by_key((name, count) for names, count in paths for name in names)
        most = {name for name, count in counts.items() if count >= cpu_policy.hot_spot_share * self.count}
        below: Counter[tuple[str, str]] = Counter()  # samples with the first further in than the second
        for names, count in paths:
            below.update(dict.fromkeys(combinations(filter(most.__contains__, names), 2), count))
        inside = {name: sum(below[other, name] > below[name, other] for other in most) for name in most}
        outwards = sorted(most, key=lambda name: (inside[name], counts[name], name))
        return [Hot(plain(name), self._part(counts[name])) for name in outwards]

    def shared_out(self, least: float, number: int = 3) -> list[Hot]:
        """Return functions of the program itself below which at least so many of all samples stand, most first, the
        innermost of those with about as many; each without the samples of those before it.

        What a runtime does for one of them is spread over many functions of its own.
        """
        rest = [(list(dict.fromkeys(scripts.program_functions(stack))), stack.count) for stack in self.stacks]
        found: list[Hot] = []
        while self.count >= cpu_policy.samples_for_function and len(found) < number:
            inside = sums_by_key((name, count) for names, count in rest for name in names)
            most = max(inside.values(), default=0)
            if most < least * self.count or not most:
                break
            places = sums_by_key((name, place * count) for names, count in rest for place, name in enumerate(names))
            near = [name for name in inside if inside[name] >= cpu_policy.same_path_share * most]
            first = min(near, key=lambda name: (places[name] / inside[name], -inside[name]))
            found.append(Hot(plain(first), self._part(inside[first])))
            rest = [(names, count) for names, count in rest if first not in names]
        return found

    def is_own(self, spot: Hot) -> bool:
        """Return whether hot code is a function of the program itself, and no library or part of its language."""
        frames = (scripts.stands_in(each, self.interpreters) for each in self.stacks if self._is(spot, each))
        return not any(map(scripts.of_others, frames)) and any(self._is(spot, each) for each in self.stacks)

    def is_inside(self, leaf: Hot, caller: str) -> bool:
        """Return whether most samples that stand in some code have a function of the target's own on their stack."""
        own = [stack for stack in self.stacks if stack.user and not stack.kernel and self._is(leaf, stack)]
        inside = [stack for stack in own if caller in map(plain, scripts.own_callers(scripts.code(stack)))]
        return 2 * sum(stack.count for stack in inside) > sum(stack.count for stack in own)

    def _is(self, leaf: Hot, stack: schema.Stack) -> bool:
        return plain(self._innermost(stack)[0]) == leaf.name

    def callers(self, number: int = 2) -> list[str]:
        """Return through which of the target's own functions most samples of the hottest one came, innermost first:
        those that half of them have on their stack.  A scan finds what earlier calls left as well, but not so often."""
        user = [(stack, self._innermost(stack)) for stack in self.stacks if stack.user and not stack.kernel]
        counts = sums_by_key((innermost, stack.count) for stack, innermost in user)
        hottest, whole = counts.most_common(1)[0] if counts else (_UNKNOWN, 0)
        inside = [
            (scripts.own_callers(scripts.code(stack)), stack.count) for stack, innermost in user if innermost == hottest
        ]
        return [name for name in _common(inside, whole) if name != hottest[0]][:number]

    def through(self) -> Hot | None:
        """Return the library that most samples stand in or below and that is no part of the system: mostly an extension
        of the program, whose functions need not be named. None where there is none, or of too few samples."""
        counts: Counter[str] = Counter()
        for stack in self.stacks:
            modules = {module_of(frame) for frame in stack.user if not of_system(frame)}
            counts.update(dict.fromkeys((name for name in modules if ".so" in name), stack.count))
        name, count = counts.most_common(1)[0] if counts else ("", 0)
        most = count >= max(cpu_policy.samples_for_function, cpu_policy.hot_spot_share * self.count)
        return Hot(plain(name), self._part(count)) if most else None

    def entered_by(self, nameless: Hot) -> str:
        """Return the outermost function of a library below which most samples of its code without names stand: what
        the program asks of it. "" where there is none; a library exports what is called from outside."""
        own = [stack for stack in self.stacks if stack.user and not stack.kernel and self._is(nameless, stack)]
        inside = [
            ([frame for frame in scripts.code(stack) if plain(module_of(frame)) == nameless.nameless_of], stack.count)
            for stack in own
        ]
        named = [(map(readable, filter(is_named, frames)), count) for frames, count in inside]
        return next(reversed(_common(named, sum(stack.count for stack in own))), "")

    def entrances(self, number: int = 2) -> list[str]:
        """Return through which functions of user space most samples of the kernel came, innermost first: as a rule the
        C library's for a system call, and who called that; other functions of the system's libraries only where there
        is nothing else."""
        kernel = [stack for stack in self.stacks if stack.kernel]
        inside = [(map(readable, filter(is_named, scripts.code(stack))), stack.count) for stack in kernel]
        whole = sum(stack.count for stack in kernel)
        found = _common(inside, whole)
        own = _common(((scripts.own_callers(scripts.code(stack)), stack.count) for stack in kernel), whole)
        rest = own or [name for name in found[1:] if not of_system(name)] or found[1:]
        return list(dict.fromkeys([*found[:1], *rest]))[:number]

    def calls_from(self) -> tuple[str, str]:
        """Return the function for the system call that most samples of the kernel came through, and who called that
        outside of the system's libraries; "" for what is not known."""
        callers = self.entrances()
        return next(iter(callers), ""), next((name for name in callers if not of_system(name)), "")

    def named(self) -> float:
        """Return the share of user-space samples whose innermost function has a name."""
        user = [stack for stack in self.stacks if not stack.kernel]
        total = sum(stack.count for stack in user)
        named = sum(stack.count for stack in user if self._innermost(stack)[1] is None)
        return named / total if total else 1.0

    def _innermost(self, stack: schema.Stack) -> tuple[str, str | None]:
        """Return the function that a sample stands in; for code without names what it is called, and its module."""
        frame = stack.kernel[0] if stack.kernel else scripts.stands_in(stack, self.interpreters)
        return _function(frame) if frame else _UNKNOWN

    def charged(
        self, model: Model, prefixes: Sequence[str], others: Sequence[str] = ()
    ) -> tuple[Part, dict[Claim, int]]:
        """Return the part inside functions that begin with `prefixes`, and the time it stands for, by account.

        A sample inside functions of `others` too is theirs whose function is innermost: two callers that give each
        other's functions never get the same one.  Samples inside an interrupt stand for cpu.irq where that was
        measured, all others for cpu.kernel: of either each sample stands for at most its part, so that callers with
        different samples never get more of it than there is.
        """
        mine, anyone = tuple(prefixes), (*prefixes, *others)

        def owned(stack: schema.Stack) -> bool:
            return next((f for f in stack.kernel if f.startswith(anyone)), "").startswith(mine)

        inside, interrupts = self.part(owned), self.part(lambda stack: owned(stack) and interrupted(stack))
        sampled_ns = model.ns(*SAMPLED)
        all_interrupts, all_kernel = self.part(interrupted).count, self.part(lambda stack: bool(stack.kernel)).count
        irq_ns = min(
            round(interrupts.share * sampled_ns), model.ns("cpu.irq") * interrupts.count // max(1, all_interrupts)
        )
        kernel_ns = min(
            round(inside.share * sampled_ns) - irq_ns, model.ns("cpu.kernel") * inside.count // max(1, all_kernel)
        )
        return inside, {account: ns for account, ns in (("cpu.kernel", kernel_ns), ("cpu.irq", irq_ns)) if ns > 0}

    def _part(self, count: int) -> Part:
        return part_of(count, self.count)


@once
def slowed_processes(model: Model) -> frozenset[int]:
    """Return the processes of whose CPU samples at least half are inside perfdiag's own probes."""
    pids = {stack.pid for stack in model.stacks}
    return frozenset(pid for pid in pids if CpuSamples(model, pid).recording.share >= 0.5)


def _common(stacks: Iterable[tuple[Iterable[str], int]], whole: int) -> list[str]:
    """Return the functions that at least half of all samples have on their stacks, innermost first; of each stack the
    names and the samples."""
    on_stack: Counter[str] = Counter()
    places: Counter[str] = Counter()  # how far out, times the samples
    for names, count in stacks:
        for place, name in enumerate(dict.fromkeys(names)):
            on_stack[name] += count
            places[name] += place * count
    common = [name for name, count in on_stack.items() if 2 * count >= whole]
    return [plain(name) for name in sorted(common, key=lambda name: places[name] / on_stack[name])]


def part_of(count: int, whole: int) -> Part:
    """Return the part that `count` of `whole` samples are."""
    if not whole:
        return Part(0.0, 1.0, 0)
    return Part(count / whole, half_width(count / whole, whole), count)


def called_by(samples: CpuSamples, longest: int = 1000) -> str:
    """Return " called by busy (server.js:6), renderPage (server.js:11)" of the hottest function, only the first where
    both are longer, or ""."""
    callers = samples.callers()
    several = ", ".join(callers)
    return f" called by {several if len(several) <= longest else callers[0]}" if callers else ""


def words(functions: Sequence[Hot]) -> str:
    """Return "compress (app) 41 % +-6 %, memcpy (libc.so.6) 12 % +-4 %"."""
    return ", ".join(map(str, functions))


def functions_evidence(functions: Sequence[Hot], of: str = "") -> list[Evidence]:
    """Return the evidence that samples stand in these functions, and `of` which samples; none without functions."""
    first = functions[0].part if functions else None
    text = f"{words(functions)}{of}"
    return [Evidence(text, first.share, "share", FUNCTIONS, first.error, EvidenceKind.FUNCTIONS)] if first else []


def _function(frame: str) -> tuple[str, str | None]:
    """Return a frame as it is; for an address "code without names (module)", and the module, "" if unknown."""
    address, _, module = frame.partition(" (")
    if is_named(address):
        return readable(frame), None
    return f"code without names ({module}" if module else "code without names", module.removesuffix(")")


def interrupted(stack: schema.Stack) -> bool:
    """Whether a sample was taken inside an interrupt or a softirq."""
    return any(function.startswith(INTERRUPT) for function in stack.kernel)
