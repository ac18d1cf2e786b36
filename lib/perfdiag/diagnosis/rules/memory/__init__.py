"""From a `Model` to findings about memory; each module is named after its finding."""
