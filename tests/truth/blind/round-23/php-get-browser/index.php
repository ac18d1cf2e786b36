<?php
// A page of a shop, which says which browser its visitor has.

function browser(string $agent): string
{
    if (getenv('ASKED') === 'browscap') {
        return get_browser($agent, true)['browser'];
    }
    foreach (['Edg', 'OPR', 'Firefox', 'Chrome'] as $name) {
        if (preg_match("#$name/([0-9]+)#", $agent)) {
            return $name;
        }
    }
    return 'Default Browser';
}

$turn = intval(substr($_SERVER['REQUEST_URI'], 1));
$agent = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/'
    . (121 + $turn % 20) . '.0.' . $turn . '.1 Safari/537.36';
echo "<p>You have ", browser($agent), "</p>\n";
