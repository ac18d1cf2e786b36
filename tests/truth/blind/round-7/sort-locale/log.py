"""60,000 lines of a log that begin alike."""

import random

random.seed(1)
for _ in range(60000):
    number = random.randrange(10**9)
    path = f"/customers/basket/checkout/{number}"
    print(f"Nov 27 host-07.example.org shop[1234]: INFO request to {path} took {number % 97} ms")
