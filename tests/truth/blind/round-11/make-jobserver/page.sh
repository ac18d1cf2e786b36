# page.sh NUMBER: makes a page, and waits for the printer.
exec sleep 0.015
