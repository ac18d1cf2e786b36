"""signals.py BUS RULES GAP_MS: leaves match rules behind, and notes when signals arrive that are sent meanwhile."""

import signal
import sys
import time

from gi.repository import Gio, GLib

BUS, RULES, GAP_MS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
SETTINGS = "ca.desrt.dconf.Writer"
WHERE = "/ca/desrt/dconf/Writer/user"
FLAGS = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
noted: list[tuple[int, int]] = []


def connected() -> Gio.DBusConnection:
    """Return a connection of its own."""
    return Gio.DBusConnection.new_for_address_sync(BUS, FLAGS, None, None)


def arrived(
    connection: Gio.DBusConnection, sender: str, path: str, interface: str, name: str, sent: GLib.Variant
) -> None:
    """Note how late a change is told."""
    noted.append((sent.unpack()[0], time.time_ns() - sent.unpack()[0]))


def send() -> bool:
    """Tell of a change, and again after the gap."""
    writer.emit_signal(None, WHERE, SETTINGS, "Notify", GLib.Variant("(t)", (time.time_ns(),)))
    return True


loop = GLib.MainLoop()
leaky, writer, reader = connected(), connected(), connected()
for number in range(RULES):
    rule = f"type='signal',interface='{SETTINGS}',path='{WHERE}',arg0path='/org/mate/terminal/{number}/'"
    words = GLib.Variant("(s)", (rule,))
    leaky.call_sync("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "AddMatch", words, None, 0, -1, None)
reader.signal_subscribe(None, SETTINGS, "Notify", WHERE, None, Gio.DBusSignalFlags.NONE, arrived)
GLib.timeout_add(GAP_MS, send)
GLib.unix_signal_add(GLib.PRIORITY_HIGH, signal.SIGINT, loop.quit)
loop.run()
with open("requests.log", "w") as log:
    log.writelines(f"{due} {took} {took}\n" for due, took in sorted(noted))
