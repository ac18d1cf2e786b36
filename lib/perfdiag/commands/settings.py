"""The configuration as the commands use it: with the thresholds that the rules know."""

from dataclasses import replace

from perfdiag.capture.recorder import Window
from perfdiag.common import config
from perfdiag.common.config import DEFAULT_MAX_COST_PPM, Config
from perfdiag.diagnosis import policy


def load() -> Config:
    """Read the configuration files that exist. Raises ConfigError for an invalid one."""
    return config.load(accepted=policy.accepted)


def with_budget(window: Window, config: Config) -> Window:
    """Return a window with the budget that was asked for, else that of the configuration, else the default."""
    asked = (window.max_cost_ppm, config.max_cost_ppm, DEFAULT_MAX_COST_PPM)
    return replace(window, max_cost_ppm=next(ppm for ppm in asked if ppm is not None))
