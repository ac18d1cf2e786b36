# server.pl PORT compared|once: answers with the newest orders; dates are parsed in each comparison, or once each.
use strict;
use warnings;
use IO::Socket::INET;
use Time::Local qw(timegm);

my ($port, $parsed) = @ARGV;
my @orders = map { { number => $_, date => sprintf "%02d/%02d/%d %02d:%02d", 1 + $_ * 7 % 28, 1 + $_ * 5 % 12,
    2010 + $_ * 3 % 15, $_ % 24, $_ * 11 % 60 } } 1 .. 900;

sub seconds {
    my ($day, $month, $year, $hour, $minute) = shift =~ m{^(\d+)/(\d+)/(\d+) (\d+):(\d+)$} or die;
    return timegm(0, $minute, $hour, $day, $month - 1, $year);
}

sub by_date { return seconds($b->{date}) <=> seconds($a->{date}) }

my $listener = IO::Socket::INET->new(LocalAddr => "127.0.0.1:$port", Listen => 64, ReuseAddr => 1) or die;
while (my $client = $listener->accept) {
    while (my $line = <$client>) {
        last if $line eq "\r\n";
    }
    my @newest;
    if ($parsed eq "compared") {
        @newest = sort by_date @orders;
    } else {
        @newest = map { $_->[1] } sort { $b->[0] <=> $a->[0] } map { [ seconds($_->{date}), $_ ] } @orders;
    }
    my $text = "$newest[0]{number}\n";
    print $client "HTTP/1.1 200 OK\r\nContent-Length: " . length($text) . "\r\nConnection: close\r\n\r\n$text";
    close $client;
}
