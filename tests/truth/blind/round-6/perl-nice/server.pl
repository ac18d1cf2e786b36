# PORT: two workers that accept by themselves, and draw a page for each request.
use strict;
use warnings;
use Digest::SHA qw(sha256);
use IO::Socket::INET;

my $listener = IO::Socket::INET->new(LocalAddr => "127.0.0.1:$ARGV[0]", Listen => 128, ReuseAddr => 1) or die $!;
for (1 .. 2) {
	next if fork;
	while (my $client = $listener->accept) {
		while (my $line = <$client>) { last if $line eq "\r\n" }
		my $page = "page";
		$page = sha256($page) for 1 .. 12000;
		$page = unpack "H*", $page;
		print $client "HTTP/1.1 200 OK\r\nContent-Length: 64\r\nConnection: close\r\n\r\n$page";
		close $client;
	}
}
1 while wait > 0;
