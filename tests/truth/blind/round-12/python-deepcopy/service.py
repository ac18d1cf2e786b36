"""service.py PORT deep|shallow: gives each request a copy of the settings, and answers with what the tenant may do."""

import copy
import sys

from server import serve

settings = {
    f"tenant-{number}": {
        "limits": {"orders": number, "users": [number, number + 1, number + 2]},
        "features": [{"name": name, "on": True, "since": [2024, 1, number % 28]} for name in ("export", "search")],
    }
    for number in range(2200)
}


def settings_of_request():
    return copy.deepcopy(settings) if sys.argv[2] == "deep" else copy.copy(settings)


def answer(path):
    own = settings_of_request()
    return sum(len(tenant["features"]) for tenant in own.values())


serve(int(sys.argv[1]), answer)
