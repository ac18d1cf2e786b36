<?php // writes four lines of log
$log = msg_get_queue((int) getenv('PORT'));
for ($line = 0; $line < 4; $line++) {
    msg_send($log, 1, str_repeat('x', 400), false);
}
echo 'hello';
