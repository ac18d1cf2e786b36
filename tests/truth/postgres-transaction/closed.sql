BEGIN;
UPDATE hot SET n = n + 1;
COMMIT;
\sleep 1000 ms
