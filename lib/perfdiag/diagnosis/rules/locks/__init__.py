"""Rules about locks, one finding a module."""
