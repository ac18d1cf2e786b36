<?php
$page = '';
$node = @fsockopen('127.0.0.1', $_SERVER['NODE'], $code, $message, 0.5);
if ($node) {
    fwrite($node, "get page\r\n");
    fgets($node);
    fclose($node);
}
header('Content-Length: 2');
echo 'ok';
