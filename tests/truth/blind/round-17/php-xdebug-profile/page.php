<?php
// A page of small functions, as templates are.
function escape($text) { return strtr($text, ['&' => '&amp;', '<' => '&lt;']); }
function price($cents) { return number_value(intdiv($cents, 100)) . ',' . number_value($cents % 100); }
function number_value($number) { return (string)$number; }
function row($item) { return '<tr><td>' . escape($item['name']) . '</td><td>' . price($item['cents']) . "</td></tr>\n"; }

$items = [];
for ($number = 0; $number < 2500; $number++)
	$items[] = ['name' => "item & more $number", 'cents' => $number * 7];
$page = '';
foreach ($items as $item)
	$page .= row($item);
header('Content-Length: ' . strlen($page));
echo $page;
