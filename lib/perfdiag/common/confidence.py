"""How far what was sampled may be from the truth, in 95 of 100 cases."""

import math

# 95 % of all samples fall within so many standard errors of the truth.
STANDARD_ERRORS = 1.96


def half_width(share: float, samples: int) -> float:
    """Return the half width of the 95 % interval of a share of so many samples."""
    if 0 < share < 1:
        return STANDARD_ERRORS * math.sqrt(share * (1 - share) / samples)
    return min(1.0, 3 / samples)  # nothing (or all) seen in n samples still allows for 3/n: the rule of three
