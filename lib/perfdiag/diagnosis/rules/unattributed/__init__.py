"""Rules about time without a cause of its own, one finding a module."""
