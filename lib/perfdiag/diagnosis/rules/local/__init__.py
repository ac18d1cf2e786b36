"""Rules about other processes of this host, one finding a module."""
