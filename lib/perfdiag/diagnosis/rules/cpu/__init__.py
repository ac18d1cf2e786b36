"""From a `Model` to findings about time on the CPU; each module is named after its finding."""
