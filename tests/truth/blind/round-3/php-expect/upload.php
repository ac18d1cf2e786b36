<?php // posts a picture to the service
$post = curl_init('http://127.0.0.1:' . getenv('SERVICE') . '/');
curl_setopt_array($post, [
    CURLOPT_POSTFIELDS => str_repeat('x', 1200000),
    CURLOPT_RETURNTRANSFER => true,
    CURLOPT_HTTPHEADER => [getenv('EXPECT')],
]);
$answer = curl_exec($post);
if ($answer !== 'stored') {
    http_response_code(500);
}
echo $answer;
