"""Sampled stacks of a report: where in its code and in the kernel the time of each account went."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from perfdiag.common.by_key import sums_by_key
from perfdiag.common.text import printable
from perfdiag.model.model import Model
from perfdiag.model.stacks.scripts import functions, waits_in
from perfdiag.model.stacks.symbols import readable, walked
from perfdiag.model.waits.futexes import joins
from perfdiag.recording import schema
from perfdiag.report import contract

MOST_OF_ACCOUNT = 20  # different stacks, the heaviest first
JOIN = "pthread_join"  # stands for all ways to wait for the end of a thread


@dataclass
class _Fold:
    ns: int = 0
    count: int = 0


def stacks(model: Model) -> list[contract.Stack]:
    """Return the heaviest stacks of each account, the account with most sampled time first."""
    objects = {row.key: row.object for row in model.rows}
    folds: defaultdict[tuple[str, str, int, tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]], _Fold]
    folds = defaultdict(_Fold)
    for stack in model.stacks:
        key = (stack.account, objects.get(stack.object, stack.object), stack.pid, tuple(stack.kernel), *_user(stack))
        folds[key].ns += stack.weight_ns
        folds[key].count += stack.count
    of_account = sums_by_key((key[0], fold.ns) for key, fold in folds.items())
    shown: defaultdict[str, int] = defaultdict(int)
    found = []
    for key, fold in sorted(folds.items(), key=lambda item: (-of_account[item[0][0]], -item[1].ns, item[0])):
        account, object, pid, kernel, user, script, guessed = key
        shown[account] += 1
        if shown[account] > MOST_OF_ACCOUNT:
            continue
        found.append(
            contract.Stack(
                account=printable(account),
                object=printable(object),
                pid=pid,
                ns=fold.ns,
                count=fold.count,
                share=fold.ns / of_account[account] if of_account[account] else 0.0,
                kernel=_printable(kernel),
                user=_printable(user),
                script=_printable(script),
                callers=_printable(guessed),
            )
        )
    return found


def waiting_code(model: Model) -> dict[tuple[str, str], str]:
    """Return the function outside the C library that most waits of (account, object key) began in."""
    weights: defaultdict[tuple[str, str], defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
    for stack in model.stacks:
        if stack.kind == "wait" and (name := _waits_in(stack)):
            weights[stack.account, stack.object][name] += stack.weight_ns or 1
    return {key: max(names, key=lambda name: (names[name], name)) for key, names in weights.items()}


def _waits_in(stack: schema.Stack) -> str:
    if joins(stack):
        return JOIN
    return printable(waits_in(stack), 80)


def _user(stack: schema.Stack) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the named frames of user space, the script's functions, and those that a scan of the stack found."""
    frames = walked(stack.user)
    known = set(frames)
    guessed = tuple(readable(name) for name in stack.scan if name not in known)
    return tuple(map(readable, frames)), tuple(map(readable, functions(stack))), guessed


def _printable(names: Iterable[str]) -> list[str]:
    return [printable(name) for name in names]
