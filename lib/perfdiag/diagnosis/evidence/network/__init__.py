"""What rules about connections and peers have in common."""
