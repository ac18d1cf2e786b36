# shellcheck shell=sh
# What scripts of rows can call.

# SOURCE COMMAND...: makes $cache/NAME of $here/NAME.SUFFIX by a command, unless it is there and newer
made_of() {
	source=$1
	shift
	product=$cache/${source%.*}
	[ "$product" -nt "$here/$source" ] || "$@"
}

# COMMAND...: as the user of PostgreSQL, with its programs
as_postgres() {
	bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
	PATH="$bin:$PATH" PGHOST=$folder PGDATABASE=postgres PGUSER=postgres LC_ALL=C \
		setpriv --reuid=postgres --regid=postgres --clear-groups "$@"
}

# DIRECTORY: an empty cluster in it; its server listens on a socket in $folder alone
make_cluster() {
	mkdir -p "$1"
	chmod 777 "$folder"
	chown postgres: "$1"
	as_postgres initdb --auth=trust --no-sync -D "$1" >/dev/null
	printf "listen_addresses = ''\nunix_socket_directories = '%s'\n" "$folder" >>"$1/postgresql.conf"
}

# waits until the server of a cluster answers
await_cluster() {
	until as_postgres pg_isready --quiet; do sleep 0.1; done
}

# WORKERS: makes nginx.conf, with what is written to its standard input inside "http"
nginx_configuration() {
	cat >nginx.conf <<-END
		user root; daemon off; pid $folder/pid; error_log $folder/errors; worker_processes $1;
		events { }
		http {
			access_log off; keepalive_requests 1000000;
			client_body_temp_path $folder/body; proxy_temp_path $folder/proxy; fastcgi_temp_path $folder/fastcgi;
			uwsgi_temp_path $folder/uwsgi; scgi_temp_path $folder/scgi;
	END
	cat - >>nginx.conf
	echo '}' >>nginx.conf
}
