"""From a `Model` to findings about file systems; each module is named after its finding."""
