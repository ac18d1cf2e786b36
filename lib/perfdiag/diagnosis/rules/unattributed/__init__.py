"""From a `Model` to findings about time that has no cause of its own; each module is named after its finding."""
