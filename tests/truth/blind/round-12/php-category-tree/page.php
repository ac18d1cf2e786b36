<?php
// Shows the tree of all categories of a shop.
function children(array $categories, int $parent): array
{
    $found = [];
    foreach ($categories as $category) {
        if ($category['parent'] === $parent) {
            $found[] = $category;
        }
    }
    return $found;
}

function searched(array $categories, int $parent): string
{
    $list = '';
    foreach (children($categories, $parent) as $category) {
        $list .= '<li>' . $category['name'] . searched($categories, $category['number']);
    }
    return "<ul>$list</ul>";
}

function grouped(array $groups, int $parent): string
{
    $list = '';
    foreach ($groups[$parent] ?? [] as $category) {
        $list .= '<li>' . $category['name'] . grouped($groups, $category['number']);
    }
    return "<ul>$list</ul>";
}

$categories = $groups = [];
for ($number = 1; $number <= 1600; $number++) {
    $categories[] = ['number' => $number, 'parent' => intdiv($number, 4), 'name' => "category $number"];
}
if (getenv('TREE') === 'searched') {
    echo strlen(searched($categories, 0)), "\n";
} else {
    foreach ($categories as $category) {
        $groups[$category['parent']][] = $category;
    }
    echo strlen(grouped($groups, 0)), "\n";
}
