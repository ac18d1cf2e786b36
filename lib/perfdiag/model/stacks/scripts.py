"""Functions of scripts in sampled stacks: "encode (/usr/lib/python3.11/json/encoder.py:182)", by its first line."""

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import takewhile

from perfdiag.model.stacks.symbols import (
    REMEMBERED,
    caller,
    is_named,
    module_of,
    of_runtime,
    of_system,
    readable,
    schedules,
    symbol_of,
    walked,
)
from perfdiag.recording import schema

# Where the libraries of a language lie, and below that what was installed beside them.
_OF_LANGUAGE = re.compile(r"/(?:lib(?:64)?(?:/[\w-]+)?|share)/(?:python|ruby/|perl/|perl-base/?)\d?[\d.]*/")
_INSTALLED = re.compile(r"/(?:site-packages|dist-packages|gems|bundle|site_ruby|vendor_ruby)/|/local/share/perl/")
_LINE = re.compile(r":\d+\)$")
_OF_JAVA = re.compile(r"(?:java|javax|jdk|sun|com\.sun)\.")
_PACKAGE = re.compile(r"((?:[a-z_]\w*\.)+)[A-Z][\w$]*\.")  # before a class, which other languages do not have there
_LIBRARY_PACKAGES = 3  # of Maven's names: organisation and project
# Of whatever library: what waits for its callers, and is not what they wait for.
_FOR_CALLERS = re.compile(
    r"(?:(?:Lifo|Priority|Simple|Joinable)?Queue[.#](?:get|put|pop|push)|Condition[.#]wait(?:_for)?|Event[.#]wait"
    r"|(?:(?:Bounded)?Semaphore|R?Lock)[.#](?:acquire|__enter__)) \("
)
_BUILT_IN = ("(<frozen ", "(<string>:", "(node:", " node:")


def functions(stack: schema.Stack) -> list[str]:
    """Return the script's functions, innermost first, as recorded; none where no interpreter was recognised, or where
    the name of the innermost is not known: who called that is not what it does."""
    if not stack.script or not is_named(stack.script[0]):
        return []
    return [frame for frame in stack.script if is_named(frame)]


def _is_built_in(frame: str) -> bool:
    return any(mark in frame for mark in _BUILT_IN)


@lru_cache(maxsize=REMEMBERED)
def of_language(frame: str) -> bool:
    """Return whether a script's function belongs to what came with the language, and not to who uses it."""
    if _is_built_in(frame):
        return True
    return _OF_LANGUAGE.search(frame) is not None and _INSTALLED.search(frame) is None


def code(stack: schema.Stack) -> list[str]:
    """Return the frames of user space that tell which code this is, innermost first.

    Below the function that the CPU was in are those of the script, if there is one: what else is on the stack of an
    interpreter belongs to it.  Where the walk lost the callers, they are what a scan of the stack found; where it lost
    them further out, what the scan found behind the last function of the walk.
    """
    if script := functions(stack):
        return [*stack.user[:1], *script]
    walk = walked(stack.user)
    if stack.scan and len(walk) < 2:
        return [*stack.user[:1], *stack.scan]
    lost = len(walk) < len(stack.user)  # and then its last functions may have saved no frame pointer either
    last = next((frame for frame in reversed(walk) if frame in stack.scan), "") if lost else "".join(walk[-1:])
    if last in stack.scan:
        return [*walk, *(frame for frame in stack.scan[stack.scan.index(last) + 1 :] if frame not in walk)]
    return list(stack.user)


def through_libraries(stack: schema.Stack, interpreters: Collection[str]) -> list[str]:
    """Return the same with what a script calls in libraries: SQLite's parser, or the C library's look-up of a name.
    What the walk of a library without frame pointers leaves out, a scan of the stack finds, as far as the interpreter:
    further out is what was called before."""
    script = functions(stack)
    if not script:
        return code(stack)
    below = takewhile(lambda frame: not is_of(module_of(frame), interpreters), [*stack.user[:1], *stack.scan])
    scanned = [frame for frame in below if frame not in stack.user]
    return [*stack.user[:1], *scanned, *stack.user[1:], *script]


def stands_in(stack: schema.Stack, interpreters: Collection[str]) -> str:
    """Return the function that a sample of user space stands in, "" if that is not known: the script's for what its
    interpreter or the system's libraries do, another library's for what that does."""
    innermost = stack.user[0] if stack.user else ""
    script = functions(stack)
    if not script or (is_named(innermost) and not _serves_script(innermost, interpreters)):
        return innermost
    return script[0]


def _serves_script(frame: str, interpreters: Collection[str]) -> bool:
    return is_of(module_of(frame), interpreters) or of_system(frame)


def is_of(module: str, interpreters: Collection[str]) -> bool:
    """Return whether a module is one of these files, which it may be a link to: "php" of "php8.2"."""
    return module != "" and any(file.startswith(module) for file in interpreters)


def waits_in(stack: schema.Stack) -> str:
    """Return the function that a wait began in, of the program itself, and what of its language that called:
    "page (service.py:11), through Popen._wait"; "" if none has a name. A queue or a lock is passed over, whoever made
    it: "QueuePool._do_get (impl.py:119)" waits for a connection, and its Queue.get for anything."""
    if script := functions(stack):
        outside = [frame for frame in script if not of_language(frame)] or script[:1]
        own = next((frame for frame in outside if not _FOR_CALLERS.match(readable(frame))), outside[0])
        through = script[0] if script[0] != own and not _is_built_in(script[0]) else ""
        return f"{readable(own)}, through {symbol_of(readable(through))}" if through else readable(own)
    # Where frames are missing, scanning the stack finds the caller that the frames left out.  A name that both have was
    # not left from an earlier call.
    return caller(each for each in stack.user if each in stack.scan) or caller((*stack.scan, *stack.user))


def own_functions(stack: schema.Stack) -> list[str]:
    """Return the functions of the script itself on a stack, innermost first, without what belongs to its language; none
    where there is no script."""
    return [readable(frame) for frame in functions(stack) if not of_language(frame)]


def users_function(stack: schema.Stack) -> str:
    """Return the innermost function of a script that belongs neither to its language nor to what is installed beside
    that, as a driver or a framework is; "" where there is none."""
    own = (frame for frame in functions(stack) if not of_language(frame) and _INSTALLED.search(frame) is None)
    return readable(next(own, ""))


def java_library(stack: schema.Stack) -> str:
    """Return the package of Java that compiled code is in, as far as it names a library: "com.fasterxml.jackson" of
    com.fasterxml.jackson.databind; what the JDK does is its caller's. "" of other code, and of no package."""
    if not stack.user or not stack.user[0].endswith(" (jit)"):
        return ""
    compiled = (frame for frame in code(stack) if frame.endswith(" (jit)"))
    own = next((frame for frame in compiled if not _OF_JAVA.match(frame)), "")
    package = _PACKAGE.match(own)
    return ".".join(package[1].split(".")[:-1][:_LIBRARY_PACKAGES]) if package else ""


def is_line(frame: str) -> bool:
    """Return whether a frame is a script's function, which is told with its line."""
    return _LINE.search(frame) is not None


def own_callers(frames: Sequence[str]) -> list[str]:
    """Return the callers of the first of `frames` that are the program's own code: where some is a script, or compiled
    while it runs, of that, without what belongs to its language; else all that is in no library of the system."""
    named = [frame for frame in frames[1:] if is_named(frame)]
    scripts = [frame for frame in named if is_line(frame) or frame.endswith(" (jit)")]
    own = [frame for frame in scripts if not of_language(frame) and not _OF_JAVA.match(frame)]
    outside = [frame for frame in named if not of_system(frame) and not schedules(frame)]
    return [readable(frame) for frame in own or scripts or outside]


def of_others(frame: str) -> bool:
    """Return whether code is not the program's own: of a library, of its language or runtime, or without a name."""
    library = ".so" in module_of(frame) or _OF_JAVA.match(frame) is not None
    return not is_named(frame) or library or of_system(frame) or of_runtime(frame) or of_language(frame)


def program_functions(stack: schema.Stack) -> list[str]:
    """Return the functions of the program itself on a stack, innermost first, without those of its runtime."""
    return [frame for frame in own_callers(["", *code(stack)]) if not of_runtime(frame)]
