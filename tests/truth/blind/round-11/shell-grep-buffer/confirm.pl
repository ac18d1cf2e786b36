# Confirms each order, a line that begins with the path of its client's socket.
use strict;
use warnings;
use IO::Socket::UNIX;

while (my $line = <STDIN>) {
    my ($path) = split / /, $line;
    my $client = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Peer => $path) or next;
    $client->send("confirmed\n");
}
