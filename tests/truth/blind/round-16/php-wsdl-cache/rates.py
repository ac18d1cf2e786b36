"""rates.py PORT: a SOAP service that answers at once, and takes 90 ms to write down what it can do."""

import pathlib
import sys
import time
from http.server import BaseHTTPRequestHandler

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "support"))
from server import Server

PORT = int(sys.argv[1])
SOAP = "http://schemas.xmlsoap.org/"
MANY = range(150)
WSDL = f"""<?xml version="1.0"?>
<definitions name="Rates" targetNamespace="urn:rates" xmlns:tns="urn:rates" xmlns="{SOAP}wsdl/"
    xmlns:soap="{SOAP}wsdl/soap/" xmlns:xsd="http://www.w3.org/2001/XMLSchema">
{
    "".join(
        f'''<message name="in{n}"><part name="code" type="xsd:string"/></message>
<message name="out{n}"><part name="rate" type="xsd:float"/></message>
'''
        for n in MANY
    )
}
<portType name="Port">
{
    "".join(
        f'''<operation name="{"rate" if n == 0 else f"other{n}"}"><input message="tns:in{n}"/>
<output message="tns:out{n}"/></operation>
'''
        for n in MANY
    )
}</portType>
<binding name="Binding" type="tns:Port"><soap:binding style="rpc" transport="{SOAP}soap/http"/>
{
    "".join(
        f'''<operation name="{"rate" if n == 0 else f"other{n}"}"><soap:operation soapAction="urn:rates#{n}"/>
<input><soap:body use="literal" namespace="urn:rates"/></input>
<output><soap:body use="literal" namespace="urn:rates"/></output></operation>
'''
        for n in MANY
    )
}</binding>
<service name="Service"><port name="Port" binding="tns:Binding">
<soap:address location="http://127.0.0.1:{PORT}/rates"/></port></service>
</definitions>
""".encode()
ANSWER = f"""<?xml version="1.0"?>
<e:Envelope xmlns:e="{SOAP}soap/envelope/"><e:Body><n:rateResponse xmlns:n="urn:rates"><rate>0.97</rate>
</n:rateResponse></e:Body></e:Envelope>
""".encode()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def say(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        time.sleep(0.09)
        self.say(WSDL)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.say(ANSWER)

    def log_message(self, format: str, *arguments: object) -> None:
        """Log nothing."""


Server(("127.0.0.1", PORT), Handler).serve_forever()
