"""From the document of a report to text for a terminal, and to JSON for programs."""
