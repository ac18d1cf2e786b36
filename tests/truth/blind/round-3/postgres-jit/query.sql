SELECT sensor, count(*), avg(value * 2 + 1), max(length(note)) FROM readings a, LATERAL tags(a.id) t WHERE value > 10 AND note LIKE 'r%' AND sensor BETWEEN 1 AND 40 GROUP BY sensor ORDER BY 2, 3
