"""CALL-RETRIED: what threads try fails, and they sleep before they try again."""

from collections.abc import Iterable, Sequence

from perfdiag.diagnosis.evidence.fix_checks import measured
from perfdiag.diagnosis.evidence.idle.failed_tries import FailedTries, failed_tries, watched_part, why_not_watched
from perfdiag.diagnosis.evidence.idle.sleeps import sleep, sleeps_in
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import general_policy, idle_policy
from perfdiag.diagnosis.rule import Check, Confidence, Evidence, Finding, Mechanism, Outcome, Severity, Silence, rule
from perfdiag.diagnosis.significance import duration, fix
from perfdiag.model.model import Model
from perfdiag.model.thread_accounts import ThreadLedger
from perfdiag.recording.accounts import PARKED, TIMER

ID = "CALL-RETRIED"
_BY_HAND = "by hand: strace -f -Z -p PID"


@rule(
    ID,
    title="A call fails or is refused, and threads sleep before they try again",
    accounts=(TIMER, PARKED),
    meaning="A system call fails, and the thread that made it sleeps until it tries again: a lock file that somebody"
    " has not removed, a lock that another process holds, an address that is missing, a limit that is reached. Or a"
    " peer answers with an error, such as 429 or 503, or a database refuses a statement, such as 40001. What it waits"
    " for is the end of that failure; the pause only makes it notice late. Or a shell starts a program that fails, then"
    " sleep(1), and then the program again.",
    measured="The last system call of a thread that failed before each of its sleeps, or answer that was an error (the"
    " status of HTTP/1, or an error of Redis, PostgreSQL, MySQL or MariaDB, on connections that are not encrypted), if"
    " half of its sleep follows the same one, or a quarter where it comes four times and does harm. Of requests, sleep"
    " of the threads that serve them counts, otherwise sleep"
    " that TARGET-SLEEPS would tell. Errors that often do no harm, such as ENOENT or that of mkdir -p, are told as no"
    " fault. Results of calls are read as long as no CPU makes more than 100,000 a second. A child that ends with"
    " another status than 0 counts likewise, where its parent, or a later child, sleeps. Connects are"
    " NET-CONNECT-SLOW.",
    alternatives="The thread looks from time to time for something that need not come, as a standby for a lock.",
    remedies="End the failure: by its error.",
    verify="The same call succeeds at once.",
    one_process=True,
    needs=("failed_calls", "results of system calls were not read"),
    beats=("TARGET-SLEEPS", "TARGET-IDLE", "TARGET-BLOCKED-OR-IDLE", "WAIT-TIMER-IN-REQUEST"),
)
def call_retried(model: Model) -> Iterable[Outcome]:
    """Yield a finding if much sleep of the threads that matter follows calls that fail."""
    threads = _sleepers(model)
    found = failed_tries(model, threads)
    if found is None and threads and watched_part(model) < idle_policy.failed_tries_share:
        read = f"results of system calls were read for a part of the time only: {why_not_watched(model)}"
        yield Silence(ID, read, _BY_HAND)
        return
    if found is None:
        yield Check(ID, "no call was seen to fail before most sleeps", 0.0, "share")
        return
    yield _finding(model, threads, found)


def _sleepers(model: Model) -> Sequence[ThreadLedger]:
    """Return the threads whose sleep delays somebody: those that serve requests, else those that sleep long."""
    time = model.request_time
    if time is not None:
        slept = time.accounts.get(TIMER, 0) + time.accounts.get(PARKED, 0)
        serving = [thread for thread in model.threads if thread.requests_read or thread.helped]
        return serving if slept >= general_policy.fault_share * time.ns else []
    found = sleep(model, talking=any(each.served for each in model.exchanges))
    if found is not None:
        return found.sleepers
    return [thread for thread in model.threads if _may_sleep(model, thread)]


def _may_sleep(model: Model, thread: ThreadLedger) -> bool:
    """Return whether a thread may have slept in waits on a futex, as a JVM's do, and for long."""
    return thread.ns(PARKED) >= general_policy.fault_share * model.window_ns and not thread.requests_read


def _finding(model: Model, threads: Sequence[ThreadLedger], found: FailedTries) -> Finding:
    line = found.line
    code = sleeps_in(model, [thread for thread in threads if thread.comm == line.comm])
    felt = found.ns >= general_policy.fault_share * model.window_ns
    watched = f"calls were watched for {duration(found.watched_ns)} only" if found.watched_ns is not None else ""
    failure = found.failure
    claim = f"{failure.why}. {found.text(code)}"
    standby = failure.standby and not model.request_time
    return conclude(
        model,
        {found.account: model.ns(found.account) if model.request_time else found.ns},
        headline=found.headline,
        claim=f"{claim}.",
        mechanism=Mechanism.FAILED,
        severity=Severity.WARNING if felt and not failure.expected else Severity.INFO,
        best=Confidence.MEDIUM if failure.expected else Confidence.HIGH,
        doubts=[
            watched and f"{watched}: {why_not_watched(model)}",
            "this error may do no harm: what is tried may go on without it" if failure.expected else "",
            "a standby that waits for its turn looks the same" if standby else "",
        ],
        evidence=[Evidence(claim, float(line.sum_ns), "ns", failure.hook)],
        remedies=[fix(failure.remedy)],
        alternatives=[] if standby else ["the thread looks from time to time for something that need not come"],
        verify=measured(model, failure.fixed),
    )
