import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Envoy's metrics listener and an application in one process: `/stats/prometheus?bytes=N` and `/metrics?bytes=N`. */
const CHUNK_BYTES = 64 * 1024;

function envoyLines(): Buffer[] {
  return lines((family, row) =>
    row === 0
      ? `# TYPE envoy_cluster_upstream_rq_${family} counter\n`
      : `envoy_cluster_upstream_rq_${family}{response_code="200",cluster_name="outbound|8080||service-${row}.namespace.svc.cluster.local"} ${row * 17}\n`,
  );
}

function appLines(): Buffer[] {
  return lines((family, row) =>
    row === 0
      ? `# HELP app_http_requests_${family}_total Requests by path and code.\n# TYPE app_http_requests_${family}_total counter\n`
      : `app_http_requests_${family}_total{method="GET",path="/api/v1/items/${row}",code="200",instance="pod-${row % 7}"} ${row * 31}\n`,
  );
}

const MAX_BYTES = 110 * 1024 * 1024;
const ROWS = 300;

/** Each family has its own name through the whole body, as with a real server. */
function lines(line: (family: number, row: number) => string): Buffer[] {
  const chunks: Buffer[] = [];
  let text = "";
  let total = 0;
  for (let family = 0; total < MAX_BYTES; family++) {
    for (let row = 0; row < ROWS; row++) text += line(family, row);
    while (text.length >= CHUNK_BYTES) {
      chunks.push(Buffer.from(text.slice(0, CHUNK_BYTES)));
      text = text.slice(CHUNK_BYTES);
      total += CHUNK_BYTES;
    }
  }
  return chunks;
}

const bodies = { "/stats/prometheus": envoyLines(), "/metrics": appLines() };

async function send(response: ServerResponse, chunks: readonly Buffer[], bytes: number): Promise<void> {
  response.setHeader("Content-Type", "text/plain; version=0.0.4");
  let left = bytes;
  for (const chunk of chunks) {
    if (left <= 0) break;
    // Bodies end with a whole line, whatever their size.
    const part = chunk.length <= left ? chunk : chunk.subarray(0, chunk.lastIndexOf(0x0a, left) + 1);
    left -= chunk.length;
    if (!response.write(part)) await new Promise((room) => response.once("drain", room));
  }
  response.end();
}

const server = createServer((request, response) => {
  const url = new URL(request.url ?? "/", "http://localhost");
  const chunks = bodies[url.pathname as keyof typeof bodies];
  void send(response, chunks, Number(url.searchParams.get("bytes")));
});
server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
