# PORT FILE: four workers; each request is counted in a file under its lock.
use strict;
use warnings;
use Fcntl qw(:flock :seek);
use IO::Socket::INET;

my ($port, $file) = @ARGV;
my $listener = IO::Socket::INET->new(LocalAddr => "127.0.0.1:$port", Listen => 128, ReuseAddr => 1) or die $!;
for (1 .. 4) {
	next if fork;
	while (my $client = $listener->accept) {
		while (my $line = <$client>) { last if $line eq "\r\n" }
		open my $hits, "+<", $file or die $!;
		flock $hits, LOCK_EX or die $!;
		my $count = <$hits> + 1;
		seek $hits, 0, SEEK_SET;
		print $hits "$count\n";
		close $hits;
		print $client "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n";
		close $client;
	}
}
1 while wait > 0;
