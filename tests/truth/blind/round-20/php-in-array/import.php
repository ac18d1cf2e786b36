<?php
// Imports a list of articles: each number is to be taken once.

function articles(): array
{
	mt_srand(20);
	$numbers = [];
	for ($line = 0; $line < 14000; $line++) {
		$numbers[] = sprintf('A-%07d', mt_rand(0, 9000000));
	}
	return $numbers;
}

function by_list(array $numbers): int
{
	$seen = [];
	foreach ($numbers as $number) {
		if (!in_array($number, $seen)) {
			$seen[] = $number;
		}
	}
	return count($seen);
}

function by_key(array $numbers): int
{
	$seen = [];
	foreach ($numbers as $number) {
		if (!isset($seen[$number])) {
			$seen[$number] = true;
		}
	}
	return count($seen);
}

$numbers = articles();
echo getenv('HOW') === 'list' ? by_list($numbers) : by_key($numbers), " articles\n";
