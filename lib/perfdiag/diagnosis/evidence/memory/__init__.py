"""From a `Model` to what rules about memory have in common."""
