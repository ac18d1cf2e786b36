<?php
// A list of prices that is kept in order.
function in_order(array $prices): bool
{
	$last = 0;
	foreach ($prices as $price) {
		if ($price < $last)
			return false;
		$last = $price;
	}
	return true;
}

function insert(array &$prices, int $price): void
{
	$low = 0;
	$high = count($prices);
	while ($low < $high) {
		$middle = intdiv($low + $high, 2);
		if ($prices[$middle] < $price)
			$low = $middle + 1;
		else
			$high = $middle;
	}
	array_splice($prices, $low, 0, [$price]);
	assert(in_order($prices));
}

$prices = [];
for ($item = 1; $item <= 2500; $item++)
	insert($prices, $item * 7919 % 10007);
echo array_sum($prices), "\n";
