# server.pl PORT PROCESSES accept|select: a pool of processes that share a listening socket.
use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;

my ($port, $processes, $wait) = @ARGV;
my $listener = IO::Socket::INET->new(LocalAddr => "127.0.0.1:$port", Listen => 128, ReuseAddr => 1) or die $!;
$listener->blocking(0) if $wait eq "select";
my $all = IO::Select->new($listener);

sub answer {
    my ($client) = @_;
    $client->blocking(1);
    while (my $line = <$client>) {
        last if $line eq "\r\n";
    }
    my $sum = 0;
    $sum += $_ * $_ for 1 .. 1000;
    my $text = "$sum\n";
    print $client "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " . length($text) . "\r\n\r\n$text";
    close $client;
}

for (1 .. $processes) {
    next if fork;
    while (1) {
        $all->can_read if $wait eq "select";
        my $client = $listener->accept or next;
        answer($client);
    }
}
1 while wait != -1;
