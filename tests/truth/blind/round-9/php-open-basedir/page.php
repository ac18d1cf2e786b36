<?php
// Looks for the templates of a theme in the folder that is asked for.
$folder = substr($_SERVER["REQUEST_URI"], 1);
$found = 0;
for ($number = 0; $number < 1000; $number++) {
    if (is_readable("$folder/$number.html")) {
        $found++;
    }
}
echo "$found templates\n";
