"""Rules about Java virtual machines: garbage collection, memory, safepoints."""
