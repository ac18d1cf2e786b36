-- The sums of each customer's orders, which come from another server within 0.4 s.
CREATE TABLE orders AS SELECT number % 2000 AS customer, number AS amount FROM generate_series(1, 20000) number;
CREATE FUNCTION remote_orders() RETURNS SETOF orders LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_sleep(0.4);
	RETURN QUERY SELECT * FROM orders;
END
$$;
CREATE MATERIALIZED VIEW totals AS SELECT customer, sum(amount) AS total FROM remote_orders() GROUP BY customer;
CREATE UNIQUE INDEX totals_customer ON totals (customer);
