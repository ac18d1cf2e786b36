CREATE TABLE readings (id int, sensor int, day int, value float8, note text) PARTITION BY RANGE (day);
SELECT format('CREATE TABLE readings_%s PARTITION OF readings FOR VALUES FROM (%s) TO (%s)', i, i, i + 1)
FROM generate_series(0, 7) i \gexec
INSERT INTO readings SELECT i, i % 50, i % 8, i, 'reading ' || i FROM generate_series(1, 2000) i;
ANALYZE;
-- the planner takes each reading for one with 100,000 tags
CREATE FUNCTION tags(int) RETURNS SETOF int LANGUAGE plpgsql STABLE ROWS 100000 AS 'BEGIN RETURN NEXT $1; END';
