SELECT sum(abalance) FROM pgbench_accounts
WHERE aid = ANY (ARRAY(SELECT (random() * 399999)::int + 1 FROM generate_series(1, 25)));
