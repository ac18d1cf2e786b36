"""Whether all requests are answered so fast that nobody who asks feels what the target waits for beside them."""

from perfdiag.diagnosis.evidence.requests.calls import not_followed
from perfdiag.diagnosis.policy import general_policy, network_policy
from perfdiag.model.model import Model, once
from perfdiag.model.requests.exchanges import together


@once
def answering_ns(model: Model) -> int:
    """Return the time of all requests that were answered, whether or not what they waited for is known."""
    return sum(each.whole.sum_ns for each in model.exchanges if each.from_outside)


@once
def answers_fast(model: Model) -> bool:
    """Return whether many requests were answered, 99 of 100 of them fast, and none waits for long."""
    served = [each for each in model.exchanges if each.from_outside]
    whole = together(each.whole for each in served)
    p99_ns = whole.quantile_ns(0.99)
    waits = any(each.line.unanswered or each.line.oldest_ns >= network_policy.slow_answer_ns for each in served)
    return (
        whole.count >= general_policy.requests_for_fast
        and p99_ns is not None
        and p99_ns < network_policy.slow_answer_ns
        and not waits
    )


@once
def no_answer_is_slow(model: Model) -> bool:
    """Return whether a server that answers fast has answered each request so: what its readers waited for beside them
    has kept none waiting."""
    return is_fast_server(model) and all(
        each.whole.max_ns < network_policy.slow_answer_ns for each in model.exchanges if each.from_outside
    )


@once
def is_fast_server(model: Model) -> bool:
    """Return whether the target answers all of its requests fast: more than checks of its health ask, and each of them
    was followed."""
    lines = [each.line for each in model.exchanges if each.from_outside]
    followed = not not_followed(model) and not any(line.declined or line.untimed for line in lines)
    asked = sum(line.count for line in lines) >= general_policy.requests_of_server
    return asked and followed and answers_fast(model)
