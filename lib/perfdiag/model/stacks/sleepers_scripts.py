"""Functions of scripts that threads wait in which slept when the recording began.

Their stacks were read from outside, without the functions of the script.  Who waits for the same futex, from the same
function of the C library, and went to sleep in the window, waits in the same function of the script as a rule.
"""

from collections.abc import Iterable, Sequence

import msgspec

from perfdiag.common.by_key import groups_by_key
from perfdiag.recording import schema

AGREE = 0.8  # of the waits whose script is known: in one function
FUTEX = "futex:"


def with_scripts(stacks: Iterable[schema.Stack]) -> list[schema.Stack]:
    """Return the stacks; those of sleepers with the functions of the script that the others wait in, if these agree."""
    stacks = list(stacks)
    known = groups_by_key((_key(each), each) for each in stacks if each.script and _is_lock(each))
    scripts = {key: script for key, each in known.items() if (script := _agreed(each))}
    return [_with_script(each, scripts) for each in stacks]


def _with_script(stack: schema.Stack, scripts: dict[tuple[object, ...], Sequence[str]]) -> schema.Stack:
    if stack.script or stack.kernel or not _is_lock(stack) or _key(stack) not in scripts:
        return stack
    return msgspec.structs.replace(stack, script=scripts[_key(stack)])


def _is_lock(stack: schema.Stack) -> bool:
    return stack.kind == "wait" and stack.object.startswith(FUTEX)


def _key(stack: schema.Stack) -> tuple[object, ...]:
    return stack.pid, stack.account, stack.object, next(iter(stack.user), "")


def _agreed(stacks: Sequence[schema.Stack]) -> Sequence[str]:
    """Return the script's functions, innermost first, that most of these waits have in common."""
    script = max(stacks, key=lambda each: each.count).script
    enough = AGREE * sum(each.count for each in stacks)
    for length in range(len(script), 0, -1):
        if sum(each.count for each in stacks if each.script[:length] == script[:length]) >= enough:
            return script[:length]
    return ()
