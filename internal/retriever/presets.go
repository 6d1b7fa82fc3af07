package retriever

// preset is the mappings of a well-known service: CEL expressions, nothing more.
// What only some collections have (a vector's name, a tenant filter) is left
// out; params carry the names that differ from one collection to the next.
type preset struct {
	request, results, errorMessage string
	// maxTopK is the most results that the service gives for one question; 0: no bound that is known.
	maxTopK int
}

const defaultPreset = "Assay"

// presets by the names that users write in retriever.preset.
var presets = map[string]preset{
	// Assay's own protocol. A result of the reply is a result as it stands.
	defaultPreset: {
		request: `{"query": question, "top_k": topK}`,
		results: `response.results`,
	},
	// POST <index>/_search of OpenSearch and Elasticsearch, which answer 200
	// with part of the hits when a shard fails or the time is up.
	"OpenSearch": {
		request: `{"size": topK, "_source": [params.idField, params.textField], "query": {"match": {params.textField: question}}}`,
		results: `response.hits.hits.map(h, {"id": h._source[params.idField], "text": h._source[?params.textField].orValue(""), "score": h._score})`,
		errorMessage: `response.?timed_out.orValue(false) ? "the search timed out and its hits are only a part" : ` +
			`response._shards.failed > 0 ? string(response._shards.failed) + " of " + string(response._shards.total) + " shards failed and the hits are only a part" : ""`,
	},
	// POST /collections/<collection>/points/query of Qdrant.
	"Qdrant": {
		request: `{"query": vector, "limit": topK, "with_payload": true}`,
		results: `response.result.points.map(p, {"id": p.payload[params.idField], "text": p.payload[?params.textField].orValue(""), "score": p.score})`,
	},
	// POST /v1/search/<collection>/hybrid of Weaviate's REST search.
	"Weaviate": {
		request: `{"query": question, "limit": topK, "returnProperties": [params.idField, params.textField], "returnMetadata": ["score"]}`,
		results: `response.results.map(r, {"id": r.properties[params.idField], "text": r.properties[?params.textField].orValue(""), "score": r.metadata.score})`,
	},
	// POST /v1/vector_stores/<id>/search of OpenAI, which knows files and no
	// chunk ids: only unit Document has a meaning.
	"OpenAIVectorStore": {
		request: `{"query": question, "max_num_results": topK, "rewrite_query": false}`,
		results: `response.data.map(d, {"id": d.filename, "document": d.file_id, "text": d.content.map(c, string(c.text)).join("\n"), "score": d.score})`,
		maxTopK: 50,
	},
}
