"""Locks of the C library's allocator: threads that share a heap (arena) of malloc queue for it."""

import re
from collections.abc import Iterable

from perfdiag.diagnosis.rule import Remedy
from perfdiag.diagnosis.significance import duration, fix
from perfdiag.model.model import Model
from perfdiag.model.stacks.symbols import symbol_of

# glibc's own data has locks of this kind; a mutex of the program waits in another function.
_OWN_LOCK = re.compile(r"_*lll_lock_wait_private")
_ALLOCATES = re.compile(
    r"(_*libc_)?(malloc|calloc|realloc|free|memalign)|_int_(malloc|free|realloc|memalign)|arena_get\w*"
)
_NEAR = 3  # frames: names further out may be left from earlier calls
HEADLINE = "Threads queue for a lock of malloc, inside the C library"


def is_of_allocator(model: Model, key: str) -> bool:
    """Return whether most sampled waits for a futex are in malloc() or free()."""
    known = [(_waits_in_malloc((*stack.user, *stack.scan)), stack.weight_ns) for stack in model.wait_stacks(key=key)]
    inside_ns = sum(ns for inside, ns in known if inside)
    return inside_ns > 0 and 2 * inside_ns > sum(ns for _, ns in known)


def _waits_in_malloc(frames: Iterable[str]) -> bool:
    names = list(dict.fromkeys(map(symbol_of, frames)))[: _NEAR + 1]
    return bool(names) and bool(_OWN_LOCK.fullmatch(names[0])) and any(map(_ALLOCATES.fullmatch, names[1:]))


def claim(ns: int, callers: str) -> tuple[str, list[Remedy]]:
    """Return the claim about such a lock, without its full stop, and the remedies; `callers`: functions that allocate,
    "" where they are not known."""
    where = f" in {callers}" if callers else ""
    return f"Threads wait {duration(ns)} for a lock of the C library's allocator{where}", [
        fix("restart it with more arenas of malloc: without MALLOC_ARENA_MAX, and arena_max in GLIBC_TUNABLES"),
        fix(f"allocate less often{where}: reuse buffers, reserve memory in one piece"),
        fix("use an allocator with caches for each thread: LD_PRELOAD of jemalloc, tcmalloc or mimalloc"),
    ]
