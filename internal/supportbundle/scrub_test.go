package supportbundle

import (
	"strings"
	"testing"
)

func TestScrub(t *testing.T) {
	for name, test := range map[string]struct{ in, want string }{
		"user and password":   {"get http://me:s3cret@host:80/p failed", "get http://[removed]@host:80/p failed"},
		"query":               {"POST https://host/search?key=s3cret&q=how+to#frag: 500", "POST https://host/search?key=[removed]&q=[removed]#[removed] 500"},
		"query without value": {"https://host/?s3cret", "https://host/?[removed]"},
		"path with an at":     {"https://host/@scope/pkg@v1", "https://host/@scope/pkg@v1"},
		"database":            {"--history=postgres://assay:p@ss/w?rd@db:5432/assay?sslmode=require", "--history=postgres://[removed]@db:5432/assay?sslmode=[removed]"},
		"database words":      {`host=db user=assay password='p w' dbname=x`, "host=db user=assay password=[removed] dbname=x"},
		"authorization":       {"Authorization: Bearer abc.def-123 rest of it", "Authorization: [removed]"},
		"header dump":         {`map[Authorization:[Bearer s3cret] Accept:[*/*]]`, "map[Authorization:[[removed]] Accept:[*/*]]"},
		"cookie":              {"Cookie: a=b; c=d", "Cookie: [removed]"},
		"bearer in prose":     {"it got bearer s3cr3tt0ken here", "it got bearer [removed] here"},
		"prose":               {"use basic authentication or a token of the cluster", "use basic authentication or a token of the cluster"},
		"JSON":                {`{"level":"info","apiKey":"s3cret","msg":"x"}`, `{"level":"info","apiKey":"[removed]","msg":"x"}`},
		"JSON in JSON":        {`{"msg":"{\"password\":\"a b\",\"n\":1}"}`, `{"msg":"{\"password\":"[removed]",\"n\":1}"}`},
		"JSON with a quote":   {`{"token":"a\"s3cret","b":1}`, `{"token":"[removed]","b":1}`},
		"logfmt":              {"level=info client_secret=s3cret n=1", "level=info client_secret=[removed] n=1"},
		"flag":                {"--api-key=s3cret,--other=1", "--api-key=[removed],--other=1"},
		"OpenAI":              {"the key sk-proj-abcdefgh1234 is wrong", "the key [removed] is wrong"},
		"JWT":                 {"got eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln!", "got [removed]!"},
		"private key":         {"x -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- y", "x [removed] y"},
		"private key, cut":    {"x -----BEGIN PRIVATE KEY-----\nMIIE", "x [removed]"},
		"opaque":              {"value QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaDEyMw== end", "value [removed] end"},
		"digest":              {"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"},
		"names":               {"Secret rag/judge-token of spec.judge.apiKeySecretRef has promptTokens 12", "Secret rag/judge-token of spec.judge.apiKeySecretRef has promptTokens 12"},
		"messages":            {"ObjectivesMissed: hit_rate@5 is 0.4167 (12 of 12 cases scored), below min 0.90", "ObjectivesMissed: hit_rate@5 is 0.4167 (12 of 12 cases scored), below min 0.90"},
		"image":               {"ghcr.io/assay-dev/assay:v0.1.0@sha256:abc", "ghcr.io/assay-dev/assay:v0.1.0@sha256:abc"},
		"Korean":              {"비밀번호 password=비밀 끝", "비밀번호 password=[removed] 끝"},
		"empty":               {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := scrub(test.in)
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if again := scrub(got); again != got {
				t.Errorf("scrubbed again it is %s", again)
			}
		})
	}
}

func FuzzScrub(f *testing.F) {
	for _, seed := range []string{"a password=b", `"token":"x\"y"`, "http://a:b@c?d=e#f", "Authorization: Basic x", "-----BEGIN PRIVATE KEY-----", "\\\"secret\\\":\\\"", "://@?&="} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		scrub(text)
		const secret = "Zq7SecretValue0x"
		for _, around := range []string{"password=%s", `{"token":"%s"}`, "Authorization: Bearer %s", "http://u:%s@host/", "https://host/?key=%s"} {
			line := strings.Replace(around, "%s", secret, 1)
			if got := scrub(text + "\n" + line + "\n"); strings.Contains(got, secret) && !strings.ContainsAny(text, "\"'\\`<>") {
				t.Errorf("%q keeps the secret of %q: %q", text, line, got)
			}
		}
	})
}
