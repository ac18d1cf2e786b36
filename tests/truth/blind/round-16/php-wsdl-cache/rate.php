<?php
// The rate of a currency, from a service that describes itself.
$client = new SoapClient('http://127.0.0.1:' . getenv('UPSTREAM') . '/rates?wsdl');
echo $client->rate('CHF'), "\n";
