"""What rules about locks have in common."""
