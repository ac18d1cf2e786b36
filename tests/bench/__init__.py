"""The benchmark: what perfdiag costs, measured against doing nothing and against tools that do less."""
