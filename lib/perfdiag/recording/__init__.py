"""From the lines of a recording, which anybody may have made, to typed and checked structs."""
