"""Functions of the C library that make system calls their caller did not ask for: what it calls is what to change."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples
from perfdiag.model.stacks.symbols import symbol_of
from perfdiag.recording import schema


@dataclass(frozen=True)
class LibraryCall:
    """One such call, by functions below which only it stands."""

    functions: frozenset[str]
    remedy: str


_CALLS = (
    LibraryCall(
        frozenset({"__tzfile_read", "tzset_internal", "tzset", "__tzset"}),
        "set TZ for the process (TZ=:/etc/localtime): without it the C library looks at /etc/localtime each time that"
        " it converts or formats a time (localtime, mktime, strftime); or convert fewer times",
    ),
    LibraryCall(
        frozenset({"__check_pf"}),
        "resolve names less often, and keep connections open: each getaddrinfo asks the kernel for all addresses of"
        " this host (ip -oneline address | wc -l counts them), so give it fewer, too",
    ),
)


def library_call(samples: CpuSamples, of: Callable[[schema.Stack], bool]) -> LibraryCall | None:
    """Return the call below which most of some samples stand; None where there is none."""
    stacks = [stack for stack in samples.stacks if stack.kernel and of(stack)]
    return next((call for call in _CALLS if _has_most(call, stacks)), None)


def _has_most(call: LibraryCall, stacks: Sequence[schema.Stack]) -> bool:
    inside = sum(stack.count for stack in stacks if _is_below(call, stack))
    return 2 * inside > sum(stack.count for stack in stacks)


def _is_below(call: LibraryCall, stack: schema.Stack) -> bool:
    return any(symbol_of(frame) in call.functions for frame in (*stack.user, *stack.scan))
