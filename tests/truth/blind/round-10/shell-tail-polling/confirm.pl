# Confirms each order, a line with the path of its client's socket.
use strict;
use warnings;
use IO::Socket::UNIX;

while (my $path = <STDIN>) {
    chomp $path;
    my $client = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Peer => $path) or next;
    $client->send("confirmed\n");
}
