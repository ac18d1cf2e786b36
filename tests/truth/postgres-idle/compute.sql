SELECT sum(sqrt(number)) FROM generate_series(1, 3000000) AS number;
