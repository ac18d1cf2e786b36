"""From a `Model` to what rules about connections and peers have in common."""
