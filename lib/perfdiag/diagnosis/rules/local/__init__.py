"""From a `Model` to findings about other processes of this host; each module is named after its finding."""
