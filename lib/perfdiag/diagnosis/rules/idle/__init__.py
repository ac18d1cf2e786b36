"""Rules about time in which a target is not busy, which is no fault by itself."""
