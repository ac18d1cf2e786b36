"""service.py PORT CACHE blob|hash: tells a price from a cache, which has all products in one value or not."""

import json
import sys

import redis
from server import serve

port, cache, how = int(sys.argv[1]), redis.Redis("127.0.0.1", int(sys.argv[2])), sys.argv[3]


def price(path):
    if how == "blob":
        return json.loads(cache.get("catalogue"))["product-77"]["price"]
    return json.loads(cache.hget("products", "product-77"))["price"]


products = {f"product-{n}": {"price": n % 900, "names": [f"name {n}", f"title {n}"]} for n in range(40_000)}
cache.set("catalogue", json.dumps(products))
cache.hset("products", mapping={name: json.dumps(product) for name, product in products.items()})
del products
serve(port, price)
