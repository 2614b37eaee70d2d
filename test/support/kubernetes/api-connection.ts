import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { join } from "node:path";

export interface ApiAnswer {
  readonly status: number;
  readonly body: string;
}

export interface ApiRequest {
  readonly method?: string;
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly token?: string;
}

/** Plain requests as the administrator, on connections that stay open: for what a test puts into a cluster, not for what it tests. */
export interface ApiConnection {
  ask(request: ApiRequest): Promise<ApiAnswer>;
  /** The answer as JSON; rejects for a status of 400 and above. */
  json(request: ApiRequest): Promise<Record<string, unknown>>;
  close(): void;
}

const MAX_CONNECTIONS = 16;

export function createApiConnection(
  { address, port }: { readonly address: string; readonly port: number },
  ca: string,
  adminToken: string,
): ApiConnection {
  const agent = new Agent({ keepAlive: true, maxSockets: MAX_CONNECTIONS });
  const ask = ({ method = "GET", path, body, contentType, token = adminToken }: ApiRequest) =>
    new Promise<ApiAnswer>((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${token}`,
        accept: "application/json",
        ...(body !== undefined && { "content-type": contentType ?? "application/json" }),
      };
      const outgoing = request({ agent, host: address, port, ca, method, path, headers }, (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on("error", reject);
        incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
        incoming.on("end", () => resolve({ status: incoming.statusCode ?? 0, body: Buffer.concat(chunks).toString() }));
      });
      outgoing.on("error", reject);
      outgoing.end(body === undefined ? undefined : JSON.stringify(body));
    });
  return {
    ask,
    async json(wanted) {
      const { status, body } = await ask(wanted);
      if (status >= 400) throw new Error(`${wanted.method ?? "GET"} ${wanted.path}: ${status} ${body}`);
      return JSON.parse(body);
    },
    close: () => agent.destroy(),
  };
}

/** To a cluster that another process has started, by the files in its folder. */
export function openClusterApi(folder: string): ApiConnection {
  const read = (name: string) => readFileSync(join(folder, name), "utf8");
  const { hostname, port } = new URL(/"server":"([^"]+)"/.exec(read("admin.kubeconfig"))?.[1] ?? "");
  const [token = ""] = read("tokens.csv").split(",");
  return createApiConnection({ address: hostname, port: Number(port) }, read("ca.crt"), token);
}
