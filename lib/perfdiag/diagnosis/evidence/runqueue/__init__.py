"""From a `Model` to what rules about waits for a CPU have in common."""
