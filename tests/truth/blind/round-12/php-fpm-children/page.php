<?php
// Asks the payment service, and shows what it says.
$call = curl_init('http://127.0.0.1:' . getenv('SERVICE') . '/');
curl_setopt($call, CURLOPT_RETURNTRANSFER, true);
echo curl_exec($call);
