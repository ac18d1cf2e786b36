"""From the words of a command line to a recording or a report; one module a command, under the name `command`."""
