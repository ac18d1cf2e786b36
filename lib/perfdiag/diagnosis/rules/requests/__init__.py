"""Rules about requests that wait in the target, one finding a module."""
