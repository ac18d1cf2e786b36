"""From a `Model` to findings about waits for a CPU; each module is named after its finding."""
