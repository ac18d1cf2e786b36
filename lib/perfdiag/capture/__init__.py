"""From selectors of the command line to a recording in a file: find the target, give up root, run the recorder."""
