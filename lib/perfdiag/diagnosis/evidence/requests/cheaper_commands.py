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


def instead_of(command: str) -> str:
    """Return "use BGSAVE instead of SAVE (redis-cli client list shows who sends it)"; "" of any other command."""
    other = _INSTEAD.get(command)
    return f"use {other} instead of {command} (redis-cli client list shows each client's last command)" if other else ""
