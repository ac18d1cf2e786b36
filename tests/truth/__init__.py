"""The truth about servers: real ones, with faults made for real, and whether the first finding names them."""
