from my_app import index  # a llama_index VectorStoreIndex


def search(query, top_k, metadata):
    for found in index.as_retriever(similarity_top_k=top_k).retrieve(query):
        yield {
            "id": found.node.metadata["chunk_id"],
            "document": found.node.metadata["path"],
            "text": found.node.get_content(),
            "score": found.score,
        }
