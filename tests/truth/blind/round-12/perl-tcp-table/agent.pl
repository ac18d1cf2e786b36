# agent.pl PORT FILE: answers how many connections there are, as the kernel tells it in a file of /proc/net.
use strict;
use warnings;
use IO::Socket::INET;

my ($port, $file) = @ARGV;
my $listener = IO::Socket::INET->new(LocalAddr => "127.0.0.1:$port", Listen => 64, ReuseAddr => 1) or die;
while (my $client = $listener->accept) {
    while (my $line = <$client>) {
        last if $line eq "\r\n";
    }
    open my $table, "<", "/proc/net/$file" or die;
    my $count = 0;
    if ($file eq "sockstat") {
        while (<$table>) { $count = $1 if /^TCP: inuse (\d+)/ }
    } else {
        while (<$table>) { $count++ }
    }
    close $table;
    my $text = "connections $count\n";
    print $client "HTTP/1.1 200 OK\r\nContent-Length: " . length($text) . "\r\nConnection: close\r\n\r\n$text";
    close $client;
}
