"""The largest consumers of every account on a host, and the processes that had the CPU while others could run."""

from collections import defaultdict

from perfdiag.common.text import NAME_NOT_KEPT, NO_NAME, printable
from perfdiag.model.builder import UNLISTED
from perfdiag.model.model import Host, Model
from perfdiag.model.share_denominator import counted
from perfdiag.model.thread_accounts import ThreadLedger
from perfdiag.report import contract

MOST_CONSUMERS = 20  # of an account
QUEUE = "runq.busy"

Who = tuple[int, str]  # pid and name; pid 0: all processes of that name that have no line of their own


def everyone(model: Model) -> contract.Everyone | None:
    """Return the host's consumers; None for a recording of chosen processes.

    Time belongs to the process that spent or waited it. `behind` has the processes that had the CPU while others could
    run.
    """
    if model.host is None:
        return None
    return contract.Everyone(left_out=model.host.left_out, consumers=_consumers(model, model.host))


def _consumers(model: Model, host: Host) -> list[contract.Consumers]:
    spent: defaultdict[str, defaultdict[Who, int]] = defaultdict(lambda: defaultdict(int))
    threads: defaultdict[Who, int] = defaultdict(int)
    for thread in model.threads:
        who = _who(thread, host)
        threads[who] += thread.threads
        for account, total in thread.accounts.items():
            if counted(account):
                spent[account][who] += total.ns
    found = []
    for account, by_whom in spent.items():
        ns = sum(by_whom.values())
        if not ns:
            continue
        behind = _behind(model, host) if account == QUEUE else {}
        found.append(
            contract.Consumers(
                account=printable(account),
                ns=ns,
                consumers=_largest(by_whom, ns, host, threads),
                behind=_largest(behind, ns, host, {}),
            )
        )
    return sorted(found, key=lambda each: (-each.ns, each.account))


def _who(thread: ThreadLedger, host: Host) -> Who:
    if thread.comm == UNLISTED:
        return 0, UNLISTED
    return thread.pid, host.names.get(thread.pid, thread.comm) if thread.pid else thread.comm


def _largest(by_whom: dict[Who, int], ns: int, host: Host, threads: dict[Who, int]) -> list[contract.Consumer]:
    order = sorted(by_whom.items(), key=lambda item: (-item[1], item[0]))
    return [
        contract.Consumer(
            pid=pid,
            comm=printable(name),
            kernel=pid in host.kernel,
            threads=threads.get((pid, name)),
            ns=own_ns,
            share=own_ns / ns,
        )
        for (pid, name), own_ns in order[:MOST_CONSUMERS]
        if own_ns
    ]


def _behind(model: Model, host: Host) -> dict[Who, int]:
    """Return the processes that had the CPU meanwhile; kernel threads of one name count as one.

    A process may call itself kworker/x: if it is listed, its line says what it is. Pids that are not listed and are
    named like a listed kernel thread count as one more of it: they had hardly any CPU time.
    """
    kernel = {host.names[pid]: pid for pid in sorted(host.kernel, reverse=True)}
    found: defaultdict[Who, int] = defaultdict(int)
    for row in model.rows_of(QUEUE):
        kind, _, rest = row.key.partition(":")
        pid, kept, name = rest.partition(":")
        if kind not in ("own", "task") or not pid.isdecimal():
            continue
        number, base = int(pid), name.partition("/")[0]
        if number not in host.names and base in kernel:
            number, name = kernel[base], base
        elif number in host.kernel:
            name = host.names[number]
        elif not name:
            name = NO_NAME if kept else host.names.get(number, NAME_NOT_KEPT)
        found[number, name] += row.distribution.sum_ns
    return found
