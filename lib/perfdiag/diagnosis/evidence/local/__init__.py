"""What rules about other processes of this host have in common."""
