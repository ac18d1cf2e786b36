"""From the document of a report to text for people in a terminal, and to JSON for programs."""
