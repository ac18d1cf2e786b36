"""Rules about connections and peers, one finding a module."""
