<?php
// An export of orders, line by line.
$file = fopen(getenv('EXPORTS') . '/orders-' . getmypid() . '.csv', 'w');
for ($order = 1; $order <= 40; $order++)
	fputcsv($file, [$order, 'customer ' . $order * 7, $order * 1.19]);
fclose($file);
echo "done\n";
