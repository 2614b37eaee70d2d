import { createInterface } from "node:readline";
import { grpc, http, tcp, websocket } from "./clients.ts";
import type { WorkloadRequest } from "./protocol.ts";
import { behave, listen, seen } from "./servers.ts";

/** A workload of a test: applications and a client in one process, controlled over its standard input. */
async function answer(request: WorkloadRequest): Promise<unknown> {
  switch (request.op) {
    case "listen":
      return listen(request);
    case "behave":
      return behave(request);
    case "seen":
      return seen(request.port, request.forget === true);
    case "http":
      return http(request);
    case "grpc":
      return grpc(request);
    case "websocket":
      return websocket(request);
    case "tcp":
      return tcp(request);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, ...request } = JSON.parse(line) as WorkloadRequest & { id: number };
  // Not awaited: requests may overlap, their answers carry the number.
  answer(request).then(
    (result) => console.log(JSON.stringify({ id, result: result ?? null })),
    (thrown: unknown) => console.log(JSON.stringify({ id, error: String(thrown) })),
  );
}
process.exit(0);
