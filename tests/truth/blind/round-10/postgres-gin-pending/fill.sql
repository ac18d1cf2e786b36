-- 40,000 documents that are in the index, and 15,000 that came later.
CREATE TABLE documents (number int, words tsvector);
CREATE FUNCTION text_of(number int) RETURNS tsvector LANGUAGE sql AS $$
	SELECT to_tsvector('simple', string_agg('w' || (hashint4(number * 64 + word) & 8191), ' '))
	FROM generate_series(1, 40) word
$$;
INSERT INTO documents SELECT number, text_of(number) FROM generate_series(1, 40000) number;
CREATE INDEX documents_words ON documents USING gin (words) WITH (fastupdate = :later);
INSERT INTO documents SELECT number, text_of(number) FROM generate_series(40001, 55000) number;
ANALYZE documents;
