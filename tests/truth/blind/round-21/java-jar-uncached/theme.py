"""Makes the jar of a theme: theme.py JAR."""

import sys
import zipfile

with zipfile.ZipFile(sys.argv[1], "w") as jar:
    for number in range(60_000):
        jar.writestr(f"META-INF/resources/webjars/theme/4.2.{number % 7}/icons/{number}.svg", b"<svg/>")
    jar.writestr("templates/page.html", b"<html>$title</html>\n" * 50)
