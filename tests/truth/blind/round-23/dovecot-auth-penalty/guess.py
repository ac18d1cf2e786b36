"""Guesses the password of a user, ten times a second, whatever comes of it: guess.py PORT."""

import asyncio
import itertools
import sys


async def guess(number: int) -> None:
    """Log in with a wrong password, and wait for the answer."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(sys.argv[1]))
        await reader.readline()
        writer.write(b"a login bob guess%d\r\n" % number)
        await reader.readline()
        writer.close()
    except OSError:
        pass


async def main() -> None:
    """Guess for ever."""
    guesses = set()
    for number in itertools.count():
        guess_ = asyncio.ensure_future(guess(number))
        guesses.add(guess_)
        guess_.add_done_callback(guesses.discard)
        await asyncio.sleep(0.1)


asyncio.run(main())
