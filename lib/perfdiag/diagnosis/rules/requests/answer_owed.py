"""A rule on clients and peers that may wait for an answer, or owe one."""

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.fix_checks import measured
from perfdiag.diagnosis.evidence.network.owed_answers import owed
from perfdiag.diagnosis.evidence.requests.calls import not_followed
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.rule import Check, Evidence, Mechanism, Outcome, Severity, Silence, rule
from perfdiag.diagnosis.significance import fix
from perfdiag.model.model import Model

ID = "ANSWER-OWED"


@rule(
    ID,
    title="Somebody may wait for an answer",
    accounts=(),
    meaning="A request of a client has no answer, or a connection is silent since one side spoke. Whether an answer is"
    " due is unknown. The target is then never called fast, whatever else it answers.",
    measured="Requests in progress at the end of the window, for 50 ms or more and longer than any answered request"
    " took; requests whose connections ended so; connections that were silent through the whole window since one side"
    " spoke; datagrams sent to peers that sent none.",
    alternatives="The last message of a connection needed no answer.",
    remedies="Look at the silent connections from both ends.",
    verify="In the next report, no request or connection is listed.",
    one_process=True,
    met=False,
    whole=True,
)
def answer_owed(model: Model) -> Iterable[Outcome]:
    """Yield one finding of all of them; it takes no time, because it is unknown whether anybody waits."""
    texts = [text.removesuffix(".") for text in owed(model)]
    unknown = not_followed(model) if model.measured("requests") else "requests were not measured"
    if not texts:
        fine = Check(ID, "no request or connection waits for an answer", 0.0, "count")
        yield Silence(ID, unknown, model.would_measure("requests")) if unknown else fine
        return
    yield conclude(
        model,
        {},
        headline=texts[0],
        claim="It is unknown whether anybody waits for these answers.",
        mechanism=Mechanism.UNDETERMINED,
        severity=Severity.INFO,
        evidence=[Evidence(text, 1.0, "count", "sockets") for text in texts],
        remedies=[fix("look at these connections from both ends: ss -tno, or a packet capture")],
        verify=measured(model, "every request is answered"),
    )
