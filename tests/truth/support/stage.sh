# shellcheck shell=sh
# What scripts of rows can call.

# SOURCE COMMAND...: makes $cache/NAME of $here/NAME.SUFFIX by a command, unless it is there and newer
made_of() {
	source=$1
	shift
	product=$cache/${source%.*}
	[ "$product" -nt "$here/$source" ] || "$@"
}

# COMMAND...: becomes it, as the user of PostgreSQL, with its programs
become_postgres() {
	bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
	export PATH="$bin:$PATH" PGHOST="$folder" PGDATABASE=postgres PGUSER=postgres LC_ALL=C
	exec setpriv --reuid=postgres --regid=postgres --clear-groups "$@"
}

# COMMAND...: the same, and waits for its end
as_postgres() {
	(become_postgres "$@")
}

# DIRECTORY: an empty cluster in it; its server listens on a socket in $folder alone.  For rows with mounts of their own
make_cluster() {
	if [ "$(stat -c %a /dev/null)" != 666 ]; then # for root alone, on some hosts
		mknod -m 666 null c 1 3
		mount --bind null /dev/null
	fi
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

# CLIENTS RATE SCRIPT: transactions at a constant rate, late or not, until it is interrupted
ask_postgres() {
	as_postgres pgbench --no-vacuum --client "$1" --jobs 1 --rate "$2" --time $((load_ms / 1000)) --file "$3" \
		--log --log-prefix "$folder/transactions" >&2 &
	trap end_sessions INT
	wait $! || wait $! || : # it complains of the end of its sessions
	exec /usr/bin/python3 "$here/../support/transactions.py" "$folder"/transactions.* >requests.log
}

# A signal would end pgbench before it has written what it has noted; the end of its sessions does not.
end_sessions() {
	as_postgres psql -qc "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()" >&2
}

# asks for nothing until it is interrupted
ask_nothing() {
	trap 'exit 0' INT
	while :; do sleep 0.5; done
}
