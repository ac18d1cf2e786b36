"""Calls to one peer that requests make one after the other: how many, how short, and what part of their time."""

from dataclasses import dataclass

from perfdiag.diagnosis.evidence.cpu.kernel_work import parts_of_work
from perfdiag.diagnosis.evidence.cpu.kernel_work_kinds import LOCAL_SOCKETS, NETWORK, PACKETS
from perfdiag.diagnosis.evidence.peers import connections_of
from perfdiag.diagnosis.evidence.requests.calls import claimed, longer_ns, of_requests_ns, until_answered_ns
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Claim, Severity
from perfdiag.diagnosis.significance import total_ns
from perfdiag.model.model import Model, Row, once
from perfdiag.model.requests.exchanges import Exchange, Latencies

ACCOUNTS = ("net.receive", "ipc.unix")
KERNEL = "cpu.kernel"


@dataclass(frozen=True)
class ChattyCalls:
    """Calls of requests to one peer, or those of them that ask for the same."""

    call: Exchange  # all calls to the peer
    times: float  # so often each request makes one
    latencies: Latencies

    @property
    def share(self) -> float:
        """Their part of the time of all calls to the peer."""
        return min(1.0, self.latencies.sum_ns / self.call.line.sum_ns) if self.call.line.sum_ns else 0.0

    def are_too_many(self, model: Model) -> bool:
        """Return whether they are many, each is answered at once, and together they are a good part of the requests'
        time."""
        if self.times < network_policy.chatty_calls or not self.latencies.count:
            return False
        if 2 * longer_ns(self.latencies, self._prompt_ns(model)) > self.latencies.sum_ns:
            return False
        return self.part(model) >= network_policy.chatty_share

    def severity(self, model: Model, fault_share: float = network_policy.chatty_most_share) -> Severity:
        """Return WARNING where they are very many and at least that part of the requests' time; of a hundred each costs
        so much beside its answer that less is enough."""
        if self.times >= network_policy.chatty_endless_calls:
            fault_share = network_policy.chatty_share
        fault = self.times >= network_policy.chatty_many_calls and self.part(model) >= fault_share
        return Severity.WARNING if fault else Severity.INFO

    def part(self, model: Model) -> float:
        """Return their part of the requests' time, 0 to 1: while threads waited for answers, or until these came.

        That is longer where a thread gets no CPU beside the peer that answers it.
        """
        return max(self._waited(model), self._outstanding(model))

    def _outstanding(self, model: Model) -> float:
        requests_ns, peers_ns = _requests_and_peers_ns(model)
        return min(1.0, min(self.latencies.sum_ns, peers_ns) / requests_ns) if requests_ns else 0.0

    def _waited(self, model: Model) -> float:
        time = model.request_time
        if time is None or not time.ns:
            return 0.0
        inside_ns = sum(
            row.distribution.sum_ns * time.accounts.get(row.account, 0) / model.ns(row.account)
            for row in self._rows(model)
            if model.ns(row.account)
        )
        return min(1.0, (inside_ns * self.share + self._requests_ns(model)) / time.ns)

    def claims(self, model: Model) -> dict[Claim, int]:
        """Return what a finding of them claims."""
        rows, key = self._rows(model), self.call.line.object
        waits = {
            (account, key): round(total_ns(row for row in rows if row.account == account) * self.share)
            for account in ACCOUNTS
        }
        return claimed(waits, self._requests_ns(model))

    def sending_ns(self, model: Model) -> int:
        """Return the kernel's work of sending many questions and receiving their answers, as far as the messages of all
        exchanges are these."""
        if self.times < network_policy.chatty_many_calls:
            return 0
        kinds = [LOCAL_SOCKETS] if self.call.line.object.startswith("unix:") else [NETWORK, PACKETS]
        part = sum(parts_of_work(model).get(kind, 0.0) for kind in kinds)
        return round(model.ns(KERNEL) * part * self.share * self.call.line.count / max(1, _messages(model)))

    def _rows(self, model: Model) -> list[Row]:
        return model.rows_of(*ACCOUNTS, key=self.call.line.object)

    def _requests_ns(self, model: Model) -> int:
        return of_requests_ns(model, self.latencies.sum_ns)

    def _prompt_ns(self, model: Model) -> int:
        """Return how long the answer to one of so many may take."""
        way_ns = connections_of(model).way_ns(self.call.line.object)
        many = self.times >= network_policy.chatty_many_calls
        return max(
            network_policy.slow_answer_ns if many else network_policy.prompt_answer_ns,
            network_policy.prompt_round_trips * (way_ns or 0),
        )


@once
def _messages(model: Model) -> int:
    """Return how many requests of others and calls there were."""
    return sum(each.line.count for each in model.exchanges if each.from_outside or not each.served)


@once
def _requests_and_peers_ns(model: Model) -> tuple[int, int]:
    """Return how long requests took, and how long of that they waited for peers."""
    served = [each for each in model.exchanges if each.from_outside]
    return sum(each.line.sum_ns for each in served), until_answered_ns(model, served)
