<?php
session_start();
$_SESSION['seen'] = ($_SESSION['seen'] ?? 0) + 1;
if ($_SERVER['CLOSE']) {
    session_write_close();
}
$service = fsockopen('127.0.0.1', $_SERVER['SERVICE']);
fwrite($service, "GET /widget HTTP/1.0\r\n\r\n");
echo strlen(stream_get_contents($service));
