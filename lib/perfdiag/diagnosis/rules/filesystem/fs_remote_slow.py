"""FS-REMOTE-SLOW: a remote or user-space file system answers slowly."""

from collections.abc import Iterable, Sequence

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.fix_checks import shorter
from perfdiag.diagnosis.evidence.locks.outside_wakers import ended_by
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import filesystem_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism, Outcome, Remedy, Severity, rule
from perfdiag.diagnosis.significance import (
    about,
    brief,
    by_key,
    claims_of,
    fault,
    fine,
    fix,
    percent,
    plain,
    share_above,
    still_waiting,
    together,
    total_ns,
    typical_ns,
    waits,
    worth,
)
from perfdiag.facts.storage import Mount
from perfdiag.model.model import Model, Row
from perfdiag.recording.distribution import Distribution

# NFS has its own accounts and rules; its waits are here only if a recording could not separate them.
REMOTE = ("remote.fs",)

# What serves files over a network, or from a process: "fuse.sshfs" too, but not "fusectl".
_TYPES = ("fuse.", "fuseblk", "cifs", "smb3", "9p", "virtiofs", "ceph", "afs")


@rule(
    "FS-REMOTE-SLOW",
    title="A remote or user-space file system answers slowly",
    accounts=REMOTE,
    meaning=(
        "Threads wait for the server or daemon of a mount: CIFS, 9p, Ceph, virtiofs, FUSE, or NFS without its own"
        " accounts. A fault if answers take longer than a round trip and one disk access; many fast answers are a"
        " profile."
    ),
    measured=(
        "Waits in remote.fs by mount, with threads still waiting at the end; small mounts are taken together. Half of"
        " the time in answers of 5 ms or more is slow."
    ),
    alternatives="A slow network, a busy server or a slow disk there, or a FUSE daemon without CPU or memory.",
    remedies="Check the server or daemon; keep files with many small synchronous operations on a local file system.",
    verify="Answers of the mount take less than 5 ms.",
)
def remote(model: Model) -> Iterable[Outcome]:
    """Judge remote waits by mount; one finding per mount, and one for all small mounts together."""
    rows = model.rows_of(*REMOTE)
    if not worth(model, total_ns(rows)):
        yield fine(model, "FS-REMOTE-SLOW", "remote file systems", *REMOTE)
        return
    mounts: dict[str, list[Row]] = {}
    for (_account, key), group in by_key(rows).items():
        mount = _mount_of(model, key)
        mounts.setdefault(mount.device if mount else key, []).extend(group)
    groups = sorted(mounts.values(), key=total_ns, reverse=True)
    small = [group for group in groups if not worth(model, total_ns(group))]
    for group in groups[: len(groups) - len(small)]:
        yield _slow(model, group, others=0)
    together_small = [row for group in small for row in group]
    if worth(model, total_ns(together_small)):
        yield _slow(model, together_small, others=len(small) - 1)


def _slow(model: Model, rows: Sequence[Row], *, others: int) -> Finding:
    """Return the finding on waits for a mount, and for `others` that are smaller: those of the largest first."""
    keys, mount = {row.key for row in rows}, _mount_of(model, rows[0].key)
    name, fstype = _name_of(rows[0], mount), mount.fstype if mount else ""
    name += f" and {others} smaller mount{'s' * (others > 1)}" if others else ""
    whole = together(rows)
    typical = typical_ns(whole)
    hanging = [
        thread
        for thread, wait in still_waiting(model, *REMOTE, part=filesystem_policy.hanging_share)
        if wait.object in keys
    ]
    who, daemon = _daemon(model, rows)
    severity, claim, mechanism, headline = _remote_claim(model, name, whole, len(hanging), several=bool(others))
    works = fstype.startswith("fuse") and bool(who) and typical >= filesystem_policy.local_answer_ns
    if works and mechanism is Mechanism.MANY:
        mechanism, headline = (
            Mechanism.OTHERS,
            f"{whole.count:,} answers of {who} for {brief(name)} take {about(typical)}",
        )
    stalled = share_above(whole, filesystem_policy.stall_ns)
    evidence = [waits(whole, "answers")]
    if stalled:
        evidence.append(Evidence(f"{percent(stalled)} of that time in answers over 134 ms", stalled, "share", "ledger"))
    return conclude(
        model,
        claims_of(rows),
        headline=headline,
        claim=claim,
        mechanism=mechanism,
        severity=severity,
        doubts=["" if fstype else "the mount is unknown"],
        evidence=evidence,
        remedies=_remote_remedies(fstype, typical, who, daemon, works=works),
        alternatives=[
            "the network to the server (retransmissions, a full link)",
            "the server's own disk, CPU or memory",
            *(["the FUSE daemon waits or has no CPU"] if fstype.startswith("fuse") else []),
        ],
        verify=shorter(model, f"answers of {name}", typical, filesystem_policy.slow_answer_ns),
    )


def _remote_claim(
    model: Model, name: str, whole: Distribution, hanging: int, *, several: bool
) -> tuple[Severity, str, Mechanism, str]:
    typical, answer = typical_ns(whole), f"{brief(name)} {'answer' if several else 'answers'}"
    if hanging:
        claim = (
            f"{plural(hanging, 'thread')} waited for {name} most of the window, and still at the end. Its server or"
            " daemon may be dead."
        )
        headline = f"Threads hang on {brief(name)}: its server or daemon may be dead"
        return Severity.CRITICAL, claim, Mechanism.FAILED, headline
    if typical >= filesystem_policy.slow_answer_ns:
        claim = f"Half of the time on {name} is in answers of {about(typical)} or more."
        return fault(model, whole.sum_ns), claim, Mechanism.SLOW, f"{answer} slowly"
    claim = f"{subject(model, begin=True)} waited {whole.count:,} times for {name}, mostly for up to {about(typical)}."
    return (
        Severity.INFO,
        claim,
        Mechanism.MANY,
        f"{whole.count:,} waits for {brief(name)} are too many; it is fast",
    )


def _mount_of(model: Model, key: str) -> Mount | None:
    """Return the mount that a wait names, None if it is not known.

    A call that looks a file up by its name tells no mount: it is the only one that can be.
    """
    if key.startswith("mount:"):
        return model.facts.mount_of(key.removeprefix("mount:"))
    if not key.startswith("syscall:"):
        return None
    remote = [mount for mount in model.facts.mounts if mount.fstype.startswith(_TYPES)]
    return remote[0] if len({mount.device for mount in remote}) == 1 else None


def _name_of(row: Row, mount: Mount | None) -> str:
    if row.key.startswith("mount:") or mount is None:
        return plain(row.object or "an unnamed mount")
    return plain(f"{mount.source} on {mount.mountpoint} ({mount.fstype})")


def _daemon(model: Model, rows: Sequence[Row]) -> tuple[str, str]:
    """Return ("python3 (77)", "77") of the thread that answers for a mount of user space; "" where nobody knows."""
    own = {thread.tid for thread in model.threads}
    ended = [row for row in rows if row.waker_tid and row.waker_tid not in own]
    tid = max(ended, key=lambda row: row.waker_count).waker_tid if ended else 0
    if tid:
        return ended_by(model, rows, tid), str(tid)
    return "", "DAEMON"


def _remote_remedies(fstype: str, typical: int, who: str, daemon: str, *, works: bool) -> list[Remedy]:
    if fstype.startswith("fuse"):
        which = f", {who}" if who else " (find /proc/[0-9]*/fd -lname /dev/fuse shows it)"
        first = fix(f"diagnose the daemon of the mount{which}: perfdiag latency --pid {daemon}")
    elif fstype.startswith("nfs"):
        first = fix("run mountstats --nfs (queue, wire and server per call), then check the server's disk and CPU")
    else:
        first = fix("check the server's CPU and disk, and the network to it")
    if typical < filesystem_policy.slow_answer_ns and not works:
        return [fix("make fewer round trips: keep small files, locks and databases local; copy whole files"), first]
    return [first, fix("keep files with many small synchronous operations on a local file system")]
