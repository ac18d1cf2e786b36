"""Look-ups that fail at once, because nobody listens where the name server should be."""

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.fix_checks import measured
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism, Severity
from perfdiag.diagnosis.significance import brief, fix
from perfdiag.model.model import Model
from perfdiag.model.requests.exchanges import Exchange

REFUSED = "Icmp.InDestUnreachs"  # "port unreachable" comes back for each question; of all of the namespace's


def nobody_listens(model: Model, name: str, lookups: Exchange | None, waited_ns: int) -> Finding | None:
    """Return the finding on a name server that refuses all questions; None where it answers some or loses them, so that
    threads wait for it (`waited_ns`).

    The C library then asks the next server, or gives up, without any delay: what is felt are errors, not time.
    """
    if lookups is None or lookups.whole.count or lookups.line.retries or waited_ns:
        return None
    asked, refused = lookups.line.unanswered, model.facts.network_delta(REFUSED) or 0
    if asked < network_policy.failed_connects_alone or refused < asked:
        return None
    text = f"{plural(asked, 'look-up')} without an answer, {refused:,} messages that something cannot be reached"
    return conclude(
        model,
        {},
        headline=f"Nobody listens at {brief(name)}: look-ups fail at once",
        claim=f"None of {plural(asked, 'look-up')} at {name} was answered: the host there says that nobody listens.",
        mechanism=Mechanism.FAILED,
        severity=Severity.WARNING,
        doubts=["the counter is of all that is sent from the network namespace"],
        evidence=[Evidence(text, float(asked), "count", "sockets, /proc/PID/net/snmp")],
        remedies=[
            fix(
                "start the name server there (ss -lunp 'sport = :53'; systemctl status systemd-resolved dnsmasq"
                " unbound), or name another one in /etc/resolv.conf"
            )
        ],
        alternatives=["other hosts of this network namespace cannot be reached, and the name server is silent"],
        verify=measured(model, f"look-ups at {name} are answered"),
    )
