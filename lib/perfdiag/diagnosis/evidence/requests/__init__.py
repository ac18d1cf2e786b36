"""What rules about requests that wait in the target have in common."""
