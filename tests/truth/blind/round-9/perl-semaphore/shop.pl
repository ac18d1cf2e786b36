# PORT SERVICE before|locked: six workers, and one process that renews prices from a service
use strict;
use warnings;
use IO::Socket::INET;
use IPC::SysV qw(IPC_CREAT IPC_PRIVATE SEM_UNDO S_IRUSR S_IWUSR);
use IPC::Semaphore;

my ($port, $service, $asks) = @ARGV;
my $semaphore = IPC::Semaphore->new(IPC_PRIVATE, 1, S_IRUSR | S_IWUSR | IPC_CREAT) or die $!;
$semaphore->setval(0, 1);
my $listener = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => $port, Listen => 128, ReuseAddr => 1)
    or die $!;

sub fetch {
    my $peer = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $service) or return;
    print $peer "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    sysread $peer, my $answer, 4096;
}

sub renew {
    while (1) {
        fetch() if $asks eq "before";
        $semaphore->op(0, -1, SEM_UNDO);
        fetch() if $asks eq "locked";
        $semaphore->op(0, 1, SEM_UNDO);
        select undef, undef, undef, 0.3;
    }
}

sub work {
    while (my $client = $listener->accept) {
        sysread $client, my $request, 4096;
        $semaphore->op(0, -1, SEM_UNDO);
        my $price = 42;
        $semaphore->op(0, 1, SEM_UNDO);
        print $client "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\n$price\n";
        close $client;
    }
}

my @children;
for my $number (0 .. 6) {
    my $child = fork;
    if (!$child) {
        $number ? work() : renew();
        exit;
    }
    push @children, $child;
}
$SIG{TERM} = sub { kill "TERM", @children; $semaphore->remove; exit };
wait;
