<?php
// Puts the lists of all suppliers together.
function products(int $supplier): array
{
    return array_map(fn($number) => $supplier * 100 + $number, range(1, 30));
}

$all = $lists = [];
for ($supplier = 0; $supplier < 1200; $supplier++) {
    if (getenv("MERGE") === "loop") {
        $all = array_merge($all, products($supplier));
    } else {
        $lists[] = products($supplier);
    }
}
$all = array_merge($all, ...$lists);
echo count($all), " products\n";
