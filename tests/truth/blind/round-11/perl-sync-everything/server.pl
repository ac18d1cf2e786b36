# server.pl PORT FILE fsync|sync: stores each order, and makes it safe.
use strict;
use warnings;
use IO::Handle;
use IO::Socket::INET;

my ($port, $file, $how) = @ARGV;
my $listener = IO::Socket::INET->new(LocalAddr => "127.0.0.1:$port", Listen => 64, ReuseAddr => 1) or die;
open my $orders, ">>", $file or die;
$orders->autoflush(1);
while (my $client = $listener->accept) {
    while (my $line = <$client>) {
        last if $line eq "\r\n";
    }
    print $orders "an order\n";
    if ($how eq "sync") {
        syscall(162);
    } else {
        $orders->sync;
    }
    print $client "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n";
    close $client;
}
