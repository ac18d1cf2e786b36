"""Commands of Redis that take long by design, and those that do the same without holding up everybody else."""

# Redis serves all clients by one thread: https://redis.io/docs/latest/commands/ names these as the ones to use instead.
_INSTEAD = {
    "FLUSHALL": "FLUSHALL ASYNC",
    "FLUSHDB": "FLUSHDB ASYNC",
    "KEYS": "SCAN",
    "SAVE": "BGSAVE",
}
# Likewise of those that take long for a large key alone: many for small ones cost as much either way.
_OF_LARGE_KEYS = {
    "DEL": "UNLINK",
    "HGETALL": "HSCAN",
    "HKEYS": "HSCAN",
    "HVALS": "HSCAN",
    "SMEMBERS": "SSCAN",
}
_WHO = "redis-cli client list shows each client's last command"


def instead_of(command: str) -> str:
    """Return what helps against one that held up the server: "use BGSAVE instead of SAVE"; "" of any other command."""
    other = _INSTEAD.get(command) or _OF_LARGE_KEYS.get(command)
    return f"use {other} instead of {command} ({_WHO})" if other else ""


def fewer_commands(name: str) -> str:
    """Return what helps against a command that its server computes for; "" of requests of another kind. Who runs a
    database changes what is asked of it, not its code."""
    if not name.isupper() or " " in name:
        return ""
    return (name in _INSTEAD and instead_of(name)) or f"send {name} less often, or for less data ({_WHO})"
