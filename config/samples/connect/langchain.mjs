import { readFileSync } from "node:fs";
import { MemoryVectorStore } from "@langchain/classic/vectorstores/memory";
import { OpenAIEmbeddings } from "@langchain/openai";

// Your application's own store stands here; the sample indexes a file of chunks.
const store = new MemoryVectorStore(
  new OpenAIEmbeddings({ model: process.env.EMBEDDINGS_MODEL, configuration: { baseURL: process.env.EMBEDDINGS_URL } }),
);
const chunks = readFileSync(process.env.CHUNKS, "utf8").trim().split("\n").map((line) => JSON.parse(line));
await store.addDocuments(
  chunks.map(({ body, path, ...metadata }) => ({ pageContent: body, metadata: { ...metadata, source: path } })),
);

export async function search(query, topK, metadata) {
  const filter = metadata.tenant && ((document) => document.metadata.tenant === metadata.tenant);
  const found = await store.similaritySearchWithScore(query, topK, filter);
  return found.map(([document, score]) => ({
    id: document.metadata.chunk_id,
    document: document.metadata.source,
    text: document.pageContent,
    score,
  }));
}
