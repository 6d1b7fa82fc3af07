from my_app import vector_store  # a langchain_core VectorStore


def search(query, top_k, metadata):
    for document, score in vector_store.similarity_search_with_score(query, k=top_k, filter=metadata or None):
        yield {
            "id": document.metadata["chunk_id"],
            "document": document.metadata["source"],
            "text": document.page_content,
            "score": float(score),
        }
