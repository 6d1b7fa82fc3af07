CREATE EXTENSION IF NOT EXISTS vector;

CREATE TABLE chunks (
    chunk_id  text PRIMARY KEY,   -- made of path and place: the same after every import
    path      text NOT NULL,
    tenant    text NOT NULL,
    body      text NOT NULL,
    embedding vector(1024) NOT NULL
);
CREATE INDEX ON chunks USING hnsw (embedding vector_cosine_ops);

-- The nearest chunks first; a filter of {} lets all through.
CREATE FUNCTION match_chunks(query_embedding vector(1024), match_count int, filter jsonb DEFAULT '{}')
RETURNS TABLE (chunk_id text, path text, body text, similarity float)
LANGUAGE sql STABLE
SET hnsw.ef_search = 200           -- as many rows as an index scan can give: at least topK
SET hnsw.iterative_scan = strict_order
AS $$
    SELECT c.chunk_id, c.path, c.body, 1 - (c.embedding <=> query_embedding)
    FROM chunks c
    WHERE NOT filter ? 'tenant' OR c.tenant = filter ->> 'tenant'
    ORDER BY c.embedding <=> query_embedding
    LIMIT match_count
$$;
