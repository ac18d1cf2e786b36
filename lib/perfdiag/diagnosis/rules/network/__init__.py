"""From a `Model` to findings about connections and peers; each module is named after its finding."""
