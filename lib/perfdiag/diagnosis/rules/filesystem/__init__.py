"""Rules about file systems, one finding a module."""
