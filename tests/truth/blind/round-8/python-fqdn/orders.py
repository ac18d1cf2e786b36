"""PORT: makes a mail for each order."""

import sys
from email.message import EmailMessage
from email.utils import make_msgid

from server import serve


def answer(_):
    message = EmailMessage()
    message["Message-ID"] = make_msgid()
    message["Subject"] = "Your order"
    message.set_content("Thank you.")
    bytes(message)


serve(int(sys.argv[1]), answer)
