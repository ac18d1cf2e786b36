"""perfdiag: where a process's time went, and what would give it back."""

__version__ = "0.1.0"
