"""From a model and its diagnosis to the document that --json prints; decides no cause."""
