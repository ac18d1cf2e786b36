"""From the recorded requests and calls to what their time consisted of."""
