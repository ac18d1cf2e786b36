#!/bin/sh
# Records proxy.jsonl.gz anew, as root: sh tests/data/recordings/proxy.sh
# nginx serves /index.html itself and asks an upstream for /api/items/#, which takes 5 ms, each tenth time 300 ms.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../../..
folder=$(mktemp -d)
trap 'kill $started 2>/dev/null || :; rm -rf "$folder"' EXIT
started=

mkdir "$folder/page"
echo hello >"$folder/page/index.html"
chmod -R a+rX "$folder"
cat >"$folder/nginx.conf" <<END
daemon off;
pid $folder/pid;
error_log $folder/errors;
worker_processes 1;
events {}
http {
	access_log off;
	upstream application { server 127.0.0.1:18091; keepalive 8; }
	server {
		listen 127.0.0.1:18090;
		root $folder/page;
		location /api/ { proxy_pass http://application; proxy_http_version 1.1; proxy_set_header Connection ''; }
	}
}
END
python3 "$here/upstream.py" 18091 &
started="$started $!"
nginx -c "$folder/nginx.conf" &
nginx=$!
started="$started $nginx"
sleep 1
"$root/build/workloads/requests" --port 18090 --rate 60 --duration-ms 9000 --path /api/items/7 >/dev/null &
started="$started $!"
"$root/build/workloads/requests" --port 18090 --rate 30 --duration-ms 9000 --path /index.html >/dev/null &
started="$started $!"
sleep 2
"$root/build/bin/perfdiag" record -o "$folder/recording" --pid $nginx --duration 5 \
	--slo 'GET /api/items/1=100ms' --slo 'GET /upload=2s'
gzip -9n <"$folder/recording" >"$here/proxy.jsonl.gz"
