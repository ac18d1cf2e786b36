"""From a `Model` to what rules about locks have in common."""
