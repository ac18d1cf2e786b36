<?php // MS: takes so many milliseconds for each line of log
$log = msg_get_queue((int) getenv('PORT'));
while (msg_receive($log, 0, $type, 1000, $line, false)) {
    usleep(1000 * (int) $argv[1]);
}
