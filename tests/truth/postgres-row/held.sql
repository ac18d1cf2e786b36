BEGIN;
UPDATE hot SET n = n + 1;
SELECT pg_sleep(0.03);
COMMIT;
