"""Rules about databases, one finding a module."""
