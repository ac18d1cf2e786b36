"""The configuration as the commands use it: with the thresholds that the rules know."""

from perfdiag.common import config
from perfdiag.common.config import Config
from perfdiag.diagnosis import policy


def load() -> Config:
    """Read the configuration files that exist. Raises ConfigError for an invalid one."""
    return config.load(accepted=policy.accepted)
