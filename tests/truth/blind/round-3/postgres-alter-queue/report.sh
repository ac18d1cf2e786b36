# shellcheck shell=sh disable=SC1091,SC2154
# reports, and a migration while each of them runs
. "$here/../../../support/stage.sh"
sql() { as_postgres psql -h 127.0.0.1 -p "$PORT" -qAtc "$1"; }
until sql 'SELECT 1' >/dev/null 2>&1; do sleep 0.1; done
sql "CREATE TABLE orders AS SELECT i AS id, 'note ' || i AS note FROM generate_series(1, 1000) i; CREATE INDEX ON orders (id)"
while :; do
	sql "SELECT max(md5(note || g)) FROM orders, generate_series(1, 2400) g" >/dev/null &
	sleep 0.3
	sql "SET lock_timeout = '$PATIENCE'; ALTER TABLE orders ALTER COLUMN note SET DEFAULT ''" 2>/dev/null || :
	wait
	sleep 1
done
