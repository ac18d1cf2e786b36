<?php
// page.php: a page of an old shop, which reads fields that not all of its 8,000 products have.
function total(int $products): int
{
    $total = 0;
    for ($number = 0; $number < $products; $number++) {
        $product = ["price" => $number % 90];
        $total += $product["price"] + $product["discount"];
    }
    return $total;
}

echo total(8000), "\n";
