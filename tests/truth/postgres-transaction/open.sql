BEGIN;
UPDATE hot SET n = n + 1;
\sleep 800 ms
COMMIT;
\sleep 200 ms
