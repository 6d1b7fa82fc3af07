// PostgreSQL with pgvector, as PGlite packages both, behind a socket; and what
// PostgREST does of one call: POST /rpc/FUNCTION, whose body's keys are arguments.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";

const [schema, rows] = process.argv.slice(2);
const db = await PGlite.create({ extensions: { vector } });
await db.exec(readFileSync(schema, "utf8"));
for (const r of JSON.parse(readFileSync(rows, "utf8"))) {
  await db.query("INSERT INTO chunks VALUES ($1, $2, $3, $4, $5)", [r.chunk_id, r.path, r.tenant, r.body, JSON.stringify(r.embedding)]);
}

const socket = new PGLiteSocketServer({ db, host: "127.0.0.1", port: 0, maxConnections: 8 });
await socket.start();

const rest = createServer(async (request, response) => {
  const send = (status, body) => response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
  if (request.headers.authorization !== "Bearer replace-me") return send(401, { code: "PGRST301", message: "JWT is not valid" });
  let text = "";
  for await (const part of request) text += part;
  const name = request.url.replace("/rpc/", "");
  const given = Object.entries(JSON.parse(text)).map(([key, value]) => [key, typeof value === "object" ? JSON.stringify(value) : value]);
  const call = given.map(([key], i) => `${key} => $${i + 1}`).join(", ");
  try {
    const { rows } = await db.query(`SELECT * FROM ${name}(${call})`, given.map(([, value]) => value));
    send(200, rows);
  } catch (error) {
    const status = error.code === "42883" ? 404 : 400;
    send(status, { code: error.code, details: null, hint: null, message: error.message });
  }
});
rest.listen(0, "127.0.0.1", async () => {
  const { rows } = await db.query("SELECT version(), extversion FROM pg_extension WHERE extname = 'vector'");
  console.log(`ready ${JSON.stringify({ postgres: socket.getServerConn(), rest: rest.address().port, version: rows[0] })}`);
});
