"""Requests on a sample of the connections: what that cannot tell is taken out, or somebody takes it for the whole."""

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from perfdiag.model.requests.exchanges import Exchange
from perfdiag.recording import schema
from perfdiag.recording.given_up import one_connection_in


def without_unanswered(exchanges: list[Exchange], given_up: Sequence[schema.GivenUp]) -> list[Exchange]:
    """Return exchanges, beside a sample without the requests that have no answer: whether those that are left out have
    one is unknown. Calls are followed all."""
    if one_connection_in(given_up) < 2:
        return exchanges
    return [replace(each, line=_answered(each.line)) if each.served else each for each in exchanges]


def _answered(line: schema.Exchange) -> schema.Exchange:
    return msgspec.structs.replace(line, unanswered=0, open=0, oldest_ns=0, unanswered_longest_ns=None)
