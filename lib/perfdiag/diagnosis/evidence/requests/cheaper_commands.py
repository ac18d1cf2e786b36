"""Commands of Redis that take long by design, and those that do the same without holding up everybody else."""

# Redis serves all clients by one thread: https://redis.io/docs/latest/commands/ names these as the ones to use instead.
_INSTEAD = {
    "DEL": "UNLINK",
    "FLUSHALL": "FLUSHALL ASYNC",
    "FLUSHDB": "FLUSHDB ASYNC",
    "HGETALL": "HSCAN",
    "HKEYS": "HSCAN",
    "HVALS": "HSCAN",
    "KEYS": "SCAN",
    "SAVE": "BGSAVE",
    "SMEMBERS": "SSCAN",
}
_WHO = "redis-cli client list shows each client's last command"


def instead_of(command: str) -> str:
    """Return "use BGSAVE instead of SAVE (redis-cli client list shows who sends it)"; "" of any other command."""
    other = _INSTEAD.get(command)
    return f"use {other} instead of {command} ({_WHO})" if other else ""


def fewer_commands(name: str) -> str:
    """Return what helps against a command that its server computes for; "" of requests of another kind. Who runs a
    database changes what is asked of it, not its code."""
    if not name.isupper() or not name.isalnum():
        return ""
    return instead_of(name) or f"send {name} less often, or for less data ({_WHO})"
