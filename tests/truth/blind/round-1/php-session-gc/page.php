<?php
session_start();
$_SESSION['cart'] = [1, 2, 3];
session_write_close();
unlink(session_save_path() . '/sess_' . session_id());
header('Content-Length: 2');
echo 'ok';
