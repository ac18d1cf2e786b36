"""Names of functions in stacks: "take_gil (libpython3.so)", "_ZN13ObjectMonitor5enterEv (libjvm.so)", "0x12 (app)"."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

HOTSPOT = "libjvm.so"  # the library of a Java virtual machine
REMEMBERED = 1 << 15  # names of functions whose judgement is kept: stacks share them, and a recording has a bound
# The C library's functions that sleep or wait for events, for a regular expression on a whole name.
SLEEPS_OF_C = (
    r"(__)?(GI_)*_*(clock_|hrtimer_)?nanosleep\w*|_*u?sleep|_*libc_\w+|_*(p?select|p?poll)(64|_chk)?|epoll_p?wait2?"
)
# The kernel's, in which a writer waits for room: at pipes (write() by two names; splice(), tee() and vmsplice()) and at
# unix sockets.
WAITS_FOR_ROOM = frozenset(
    {"pipe_write", "anon_pipe_write", "pipe_wait_writable", "wait_for_space", "opipe_prep"}
    | {"unix_stream_sendmsg", "unix_dgram_sendmsg"}
)
_OF_PROCESSOR = re.compile(
    r"^__(\w+?)_(?:s?sse|avx|evex|erms)\w*(?= \()"
)  # one of several functions: __memcpy_avx_unaligned
_START = re.compile(r"_ZN[VKrRO]*(St)?")
_FREE = re.compile(r"_ZL?(\d{1,3})")  # a function in no class and no namespace: its name, then its arguments
_LENGTH = re.compile(r"L?(\d{1,3})")
_NO_NAME = re.compile(r"h[0-9a-f]{16}|_GLOBAL__N_1")  # the hash at the end of Rust's names, a namespace without a name
_RUST_MARKS = (("$LT$", "<"), ("$GT$", ">"), ("$u20$", " "), ("$RF$", "&"), ("..", "::"))
_SCRIPT = re.compile(r"JS:[*^~+]?(\S*) (?:\S*/)?([^/\s]+:\d+):\d+ \(jit\)")
_COMPILED = " (jit)"
_JAVA = re.compile(r"\b(?:[a-z_][\w$]*\.)+([A-Z][\w$]*\.[\w$<>]+ \(jit\))")
_RUBY_BLOCK = re.compile(r"^(?:(?:rescue|ensure) in )?block (?:\(\d+ levels\) )?in ")
_OF_INTERPRETER = re.compile(
    r"(?:.*<locals>\.)?(.*) \((?:.*/)?([^/]+/__init__\.[^/]+|(?!__init__\.)[^/]+:\d+)\)"  # of a package, its folder
)
_TOP_LEVEL = ("<module>", "<main>", "<top (required)>")  # what Python and Ruby call the code of a file in no function
_RUST_CLOSURE = "_$u7b$$u7b$closure$u7d$$u7d$"


def symbol_of(frame: str) -> str:
    """Return the function of a frame without its module and version: "take_gil (libpython3.so)" is take_gil."""
    return frame.partition(" (")[0].partition("@")[0]


def module_of(frame: str) -> str:
    """Return "libpython3.so" of "take_gil (libpython3.so)", "" where no module is known."""
    return frame.rpartition(" (")[2].removesuffix(")") if frame.endswith(")") else ""


def any_begins(functions: Iterable[str], prefixes: tuple[str, ...]) -> bool:
    """Return whether a function of a stack begins with one of `prefixes`."""
    return any(function.startswith(prefixes) for function in functions)


def is_named(frame: str) -> bool:
    """Return whether a frame has a function; older recordings hold address 0 as "0"."""
    return not frame.startswith("0x") and frame != "0"


def without_package(text: str) -> str:
    """Return a text with "ArrayList.indexOf (jit)" for each "java.util.ArrayList.indexOf (jit)": for who reads it, as
    the package tells whose code that is."""
    return _JAVA.sub(r"\1", text) if _COMPILED in text else text


@lru_cache(maxsize=REMEMBERED)
def readable(frame: str) -> str:
    """Return "ObjectMonitor::enter (libjvm.so)" for "_ZN13ObjectMonitor5enterEv (libjvm.so)"; other names as given.

    C++ and Rust, as far as that takes no parser of types: scopes and name, no arguments.  Node.js, in its perf map:
    "busy (server.js:6)" for "JS:*busy /srv/server.js:6:14 (jit)", whatever compiler the mark stands for.
    Of an interpreter: "encode (encoder.py:182)" for "encode (/usr/lib/python3.11/json/encoder.py:182)", and of what
    stands in no function "main.py (top level)".
    """
    script = _SCRIPT.fullmatch(frame) or _OF_INTERPRETER.fullmatch(frame)
    if script and script[1] in _TOP_LEVEL:
        return f"{script[2].partition(':')[0]} (top level)"
    if script:
        return f"{_RUBY_BLOCK.sub('a block of ', script[1]) or 'a function'} ({script[2]})"
    if free := _FREE.match(frame):
        end = free.end() + int(free[1])
        module = frame[end:].partition(" (")[2]
        name = frame[free.end() : end]
        return frame if end > len(frame.partition(" (")[0]) else f"{name} ({module}" if module else name
    start = _START.match(frame)
    parts, at = ["std"] if start and start[1] else [], start.end() if start else len(frame)
    while (digits := _LENGTH.match(frame, at)) is not None:
        at = digits.end()
        part = frame[at : at + int(digits[1])]
        at += int(digits[1])
        if not _NO_NAME.fullmatch(part):
            parts.append(part)
    if parts in ([], ["std"]) or at > len(frame):
        return _OF_PROCESSOR.sub(r"\1", frame)
    name = "::".join(parts).replace(_RUST_CLOSURE, "{closure}")
    for mark, means in _RUST_MARKS:
        name = name.replace(mark, means)
    name = name.removeprefix("_") if name.startswith("_<") else name
    module = frame[at:].partition(" (")[2]
    return f"{name} ({module}" if module else name


# Modules and functions that take locks for others, or park threads for them: never the code that wants it.
_LIBRARIES = ("(libc.so", "(libc-", "(libpthread", "(ld-linux", "(ld-musl", "(libstdc++")
_FOR_OTHERS = re.compile(
    r"uv_(mutex|rwlock|cond|sem)_\w+|std::(mutex|shared_mutex|unique_lock|condition_variable)\b.*|g_(mutex|cond)_\w+"
    r"|os::Platform\w+::\w+|PosixSemaphore::\w+|Monitor::wait\w*|PyThread_acquire_lock\w*|boost::.*(lock|wait)\b.*"
)


@lru_cache(maxsize=REMEMBERED)
def of_system(frame: str) -> bool:
    """Return whether a frame is in the C library, or the like: what its caller wants of it is not known."""
    return any(library in frame for library in (*_LIBRARIES, "([vdso])"))


# What a runtime of Go does between goroutines: who let it do so is not on the stack.
_SCHEDULES = re.compile(
    r"runtime\.(?:schedule|findRunnable|execute|stealWork|park_m|gopark\w*|goready|ready|wakep|go(?:exit|sched)\w*"
    r"|exitsyscall\w*|mcall|systemstack\w*|mstart\w*|rt0_go|newproc\w*)(?:\.abi0)?(?: \(|$)"
)
_OF_RUNTIME = re.compile(r"(?:internal/)?runtime(?:/[\w/]+)?\.")
# What calls the first function of a program or a thread, of the C library, of C++, of HotSpot and of Python; HotSpot's
# interpreter stands there without the names of what it runs.
_STARTS = re.compile(
    r"_*libc_start\w+|_start|start_thread|clone3?|execute_native_thread_routine|thread_native_entry|Thread::call_run"
    r"|JavaThread::thread_main_inner|thread_entry|JavaCalls::\w+|StubRoutines|Interpreter"
    r"|Thread\._bootstrap(?:_inner)?|Thread\.run"
)


@lru_cache(maxsize=REMEMBERED)
def schedules(frame: str) -> bool:
    """Return whether a frame is of the scheduler of goroutines: the program's work is as little inside it as its idling
    is."""
    return _SCHEDULES.match(frame) is not None


@lru_cache(maxsize=REMEMBERED)
def starts(frame: str) -> bool:
    """Return whether a frame only begins a program or a thread: all its work is below it."""
    return _STARTS.fullmatch(symbol_of(readable(frame))) is not None


def of_runtime(frame: str) -> bool:
    """Return whether a frame is of Go's runtime: what it is done for, its caller tells."""
    return _OF_RUNTIME.match(frame) is not None


def caller(frames: Iterable[str]) -> str:
    """Return the first of `frames`, innermost first, that is the program's own code, "" if none has a name."""
    named = [readable(frame) for frame in frames if is_named(frame)]
    outside = [name for name in named if not any(library in name for library in _LIBRARIES)]
    return next((name for name in outside if not _FOR_OTHERS.fullmatch(symbol_of(name))), (outside or [""])[0])


def walked(frames: Sequence[str]) -> list[str]:
    """Return the frames of a walk that hold: code without frame pointers ends it in meaningless addresses, and the
    first frame is always right."""
    found = list(frames)
    while len(found) > 1 and not is_named(found[-1]):
        found.pop()
    return found[:1] if any(not is_named(frame) for frame in found[1:]) else found


def nearest_of(names: Sequence[str], functions: str, through: str, neutral: re.Pattern[str], strangers: int = 0) -> str:
    """Return the frame of `names`, innermost first, of one of `functions` that waits in one of `through`, or "".

    Besides those and `neutral` ones at most so many strangers may stand before it: names that earlier calls left.
    """
    waits = not through
    for frame in names:
        if waits and re.fullmatch(rf"({functions})( \(.*)?", frame):
            return frame
        name = symbol_of(frame)
        if re.fullmatch(through, name):
            waits = True
        elif not neutral.fullmatch(name):
            strangers -= 1
            if strangers < 0:
                return ""
    return ""
