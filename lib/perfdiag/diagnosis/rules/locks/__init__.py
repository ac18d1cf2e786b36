"""From a `Model` to findings about locks; each module is named after its finding."""
