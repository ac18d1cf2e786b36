__requires__ = "setuptools"
import time

from pkg_resources import get_distribution

print(get_distribution("setuptools").version, time.strftime("%A"))
