import { readFileSync } from "node:fs";
import { BaseEmbedding, Document, Settings, VectorStoreIndex } from "llamaindex";

class Embeddings extends BaseEmbedding {
  async getTextEmbedding(input) {
    const response = await fetch(`${process.env.EMBEDDINGS_URL}/embeddings`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${process.env.OPENAI_API_KEY}` },
      body: JSON.stringify({ model: process.env.EMBEDDINGS_MODEL, input }),
    });
    if (!response.ok) throw new Error(`embeddings: ${response.status} ${await response.text()}`);
    return (await response.json()).data[0].embedding;
  }
}

// Your application's own index stands here; the sample indexes a file of chunks.
Settings.embedModel = new Embeddings();
const chunks = readFileSync(process.env.CHUNKS, "utf8").trim().split("\n").map((line) => JSON.parse(line));
const index = await VectorStoreIndex.fromDocuments(
  chunks.map(({ body, ...metadata }) => new Document({ text: body, id_: metadata.chunk_id, metadata, excludedEmbedMetadataKeys: Object.keys(metadata) })),
);

export async function search(query, topK, metadata) {
  const filters = metadata.tenant && { filters: [{ key: "tenant", value: metadata.tenant, operator: "==" }] };
  const found = await index.asRetriever({ similarityTopK: topK, filters }).retrieve({ query });
  return found.map(({ node, score }) => ({
    id: node.metadata.chunk_id,
    document: node.metadata.path,
    text: node.getContent(),
    score,
  }));
}
