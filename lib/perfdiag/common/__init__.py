"""What every other package may use: errors, numbers and names as text, deadlines, privileges, configuration."""
