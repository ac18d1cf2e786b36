# batch.pl FOLDERS FOLDER: runs a program for each file of a batch, and notes what each took.
use strict;
use warnings;
use Time::HiRes qw(sleep time);

my ($folders, $folder) = @ARGV;
$ENV{LD_LIBRARY_PATH} = join ":", map { "$folder/packages/$_/lib" } 1 .. $folders if $folders;
open my $log, ">", "$folder/steps.log" or die $!;
$log->autoflush(1);
while (1) {
    my $begin = time;
    system("curl --version >/dev/null") == 0 or die "curl: $?";
    printf $log "%.1f\n", (time - $begin) * 1000;
    sleep 0.02;
}
