"""Rules about time in which a target is not busy: profile, never an alarm."""
