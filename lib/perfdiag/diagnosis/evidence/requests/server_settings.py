"""What well-known servers call the settings that limit or delay requests, by the name of their processes."""

from collections.abc import Mapping

from perfdiag.model.model import Model

# What limits the connections, or the requests at a time.
_LIMITS = {
    "apache2": "MaxRequestWorkers",
    "haproxy": "maxconn",
    "httpd": "MaxRequestWorkers",
    "lighttpd": "server.max-connections",
    "memcached": "its limit of connections (-c)",
    "nginx": "worker_connections",
}
# What delays requests.
_DELAYS = {
    "haproxy": "inspect-delay and tarpit",
    "nginx": "limit_rate and limit_req",
    "squid": "delay_pools",
    "vsftpd": "local_max_rate and anon_max_rate",
}


def limit_of_requests(model: Model) -> str:
    """Return the setting that limits the requests of the target; "" where that is no server known here."""
    return _of_reader(model, _LIMITS)


def delays_of_requests(model: Model) -> str:
    """Return the settings that delay the requests of the target; "" where that is no server known here."""
    return _of_reader(model, _DELAYS)


def _of_reader(model: Model, settings: Mapping[str, str]) -> str:
    """Return what stands there for those who read requests; "" if they do not all have one name."""
    readers = {thread.comm for thread in model.threads if thread.requests_read}
    return settings.get(next(iter(readers)), "") if len(readers) == 1 else ""
