"""From a `Model` to what rules about time on the CPU have in common."""
