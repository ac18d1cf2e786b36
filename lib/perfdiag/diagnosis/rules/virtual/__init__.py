"""From a `Model` to findings about guests and their hosts; each module is named after its finding."""
