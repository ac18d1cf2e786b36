"""From a model and its diagnosis to the document that is the contract of --json; decides no cause."""
