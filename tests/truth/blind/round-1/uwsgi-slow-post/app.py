def application(environment, start_response):
    environment["wsgi.input"].read(int(environment.get("CONTENT_LENGTH") or 0))
    start_response("200 OK", [("Content-Length", "2")])
    return [b"ok"]
