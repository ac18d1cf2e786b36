"""From a `Model` to findings about databases; each module is named after its finding."""
