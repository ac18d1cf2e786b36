# mails.pl FOLDER PORT: sends four reminders by a relay, over and over, and notes how long that took.
use strict;
use warnings;
use Net::SMTP;
use Socket qw(IPPROTO_TCP TCP_NODELAY);
use Time::HiRes qw(sleep time);

my ($folder, $port) = @ARGV;

sub remind {
    my ($customer) = @_;
    my $relay = Net::SMTP->new("127.0.0.1", Port => $port, Hello => "shop.example") or die "no relay";
    setsockopt $relay, IPPROTO_TCP, TCP_NODELAY, 1;
    $relay->mail('shop@shop.example');
    $relay->to("customer$customer\@example.test");
    $relay->data("Subject: reminder\n\nOrder $customer is due.\n");
    $relay->quit;
}

while (1) {
    my $begun = time;
    remind($_) for 1 .. 4;
    open my $rounds, ">>", "$folder/rounds" or die;
    printf $rounds "%.3f\n", time - $begun;
    close $rounds;
    sleep 0.5;
}
