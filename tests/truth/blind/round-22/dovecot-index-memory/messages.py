"""Makes 1,500 messages of two parts in a folder."""

import sys
from email.message import EmailMessage
from pathlib import Path

for number in range(1500):
    message = EmailMessage()
    message["From"] = f"Customer {number} <customer{number}@example.com>"
    message["To"] = "Ann <ann@shop.example>"
    message["Subject"] = f"Order {number}"
    message["Date"] = "Mon, 01 Dec 2025 10:00:00 +0000"
    message["Message-ID"] = f"<{number}@example.com>"
    message.set_content("A line of text that is of no interest.\n" * 150)
    message.add_alternative("<p>A line of text that is of no interest.</p>\n" * 150, subtype="html")
    Path(sys.argv[1], f"17000{number:05}.M{number}P1.host:2,S").write_bytes(message.as_bytes())
