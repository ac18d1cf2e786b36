"""How a report is shown: for people in a terminal, for programs as JSON."""
