<?php
// worker.php PORT each|never: a worker that lives long, and may collect cycles after each request.
class Service
{
    public array $parts = [];
    public ?Service $owner = null;
}

function container(): Service
{
    $container = new Service();
    for ($number = 0; $number < 700; $number++) {
        $group = new Service();
        $group->owner = $container;
        for ($part = 0; $part < 1000; $part++) {
            $one = new Service();
            $one->owner = $group;
            $group->parts[] = $one;
        }
        $container->parts[] = $group;
    }
    return $container;
}

function handle(Service $container): string
{
    $service = $container->parts[7];
    return count($service->owner->parts) . "\n";
}

[, $port, $collects] = $argv;
$container = container();
gc_collect_cycles();
$listener = stream_socket_server("tcp://127.0.0.1:$port");
while ($client = stream_socket_accept($listener, -1)) {
    while (($line = fgets($client)) !== false && $line !== "\r\n");
    $text = handle($container);
    if ($collects === 'each') {
        gc_collect_cycles();
    }
    fwrite($client, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " . strlen($text) . "\r\n\r\n$text");
    fclose($client);
}
