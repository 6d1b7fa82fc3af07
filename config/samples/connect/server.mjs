// Serves a search function in Assay's protocol. Node 20 or later, and no package:
//
//   node server.mjs ./langchain.mjs
//
// The module exports search(query, topK, metadata), which gives a list of
// {id, document, text, score}, best first.
import { createServer } from "node:http";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const { search } = await import(pathToFileURL(resolve(process.argv[2])));
const mostBytes = 1 << 20;

async function read(request) {
  const parts = [];
  let bytes = 0;
  for await (const part of request) {
    bytes += part.length;
    if (bytes > mostBytes) throw new RangeError("the request is over 1 MiB");
    parts.push(part);
  }
  const { query, top_k, metadata } = JSON.parse(Buffer.concat(parts).toString("utf8"));
  if (typeof query !== "string" || !(Number.isInteger(top_k) && top_k > 0)) {
    throw new TypeError('"query" must be a text and "top_k" a whole number above 0');
  }
  return { query, topK: top_k, metadata: metadata ?? {} };
}

function send(response, status, body) {
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
}

const server = createServer(async (request, response) => {
  if (request.method === "GET" && request.url === "/healthz") return send(response, 200, { status: "ok" });
  if (request.method !== "POST" || request.url !== "/search") return send(response, 404, { error: "ask POST /search" });
  let asked;
  try {
    asked = await read(request);
  } catch (error) {
    return send(response, 400, { error: error.message });
  }
  try {
    send(response, 200, { results: await search(asked.query, asked.topK, asked.metadata) });
  } catch (error) {
    // The status makes it an outage and no empty list, which would score 0.
    console.error(error);
    send(response, 500, { error: error.message });
  }
});

server.listen(Number(process.env.PORT ?? 8080), process.env.HOST ?? "0.0.0.0", () => {
  console.log(`listening on port ${server.address().port}`);
});
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => server.close(() => process.exit(0)));
