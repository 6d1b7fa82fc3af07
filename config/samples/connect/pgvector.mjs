import pg from "pg";

// PGHOST, PGPORT, PGDATABASE, PGUSER and PGPASSWORD say where.
const pool = new pg.Pool({ max: 4 });

async function embed(input) {
  const response = await fetch(`${process.env.EMBEDDINGS_URL}/embeddings`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${process.env.OPENAI_API_KEY}` },
    body: JSON.stringify({ model: process.env.EMBEDDINGS_MODEL, input }),
  });
  if (!response.ok) throw new Error(`embeddings: ${response.status} ${await response.text()}`);
  return JSON.stringify((await response.json()).data[0].embedding);
}

export async function search(query, topK, metadata) {
  const { rows } = await pool.query("SELECT * FROM match_chunks($1, $2, $3)", [await embed(query), topK, metadata]);
  return rows.map((row) => ({ id: row.chunk_id, document: row.path, text: row.body, score: row.similarity }));
}
