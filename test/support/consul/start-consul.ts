import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { httpRequest } from "../../../src/net/http-client/http-request.ts";
import { programPath } from "../kubernetes/binaries.ts";
import { type ServerProcess, startServerProcess } from "../kubernetes/server-process.ts";
import { freePorts } from "../net/free-ports.ts";
import { until } from "../wait/until.ts";

export interface ConsulOptions {
  /** Nothing without a token; `token` of the result may do everything. */
  readonly hasAcl?: boolean;
  /** Its data outlives a kill, for which its start takes seconds longer. */
  readonly persists?: boolean;
  /** Also serves TLS, for clients with a certificate of the CA alone: names of files. */
  readonly tls?: { readonly ca: string; readonly certificate: string; readonly key: string };
}

/** A real Consul server of its own, on the loopback, with its data in a folder of its own. */
export interface RealConsul extends AsyncDisposable {
  readonly url: string;
  /** Empty without `tls`. */
  readonly tlsUrl: string;
  readonly token: string | undefined;
  register(service: object): Promise<void>;
  deregister(id: string): Promise<void>;
  /** Sets a check of time to live, as the service itself would. */
  report(checkId: string, status: "passing" | "warning" | "critical"): Promise<void>;
  put(key: string, value: string): Promise<void>;
  remove(key: string): Promise<void>;
  /** Any request with the management token. */
  ask(method: string, path: string, body?: unknown): Promise<string>;
  signal(signal: NodeJS.Signals): void;
  kill(): Promise<void>;
  start(): Promise<void>;
}

const TOKEN = "11111111-2222-3333-4444-555555555555";

export async function startConsul({ hasAcl = false, persists = false, tls }: ConsulOptions = {}): Promise<RealConsul> {
  const folder = mkdtempSync(join(tmpdir(), "consul-"));
  const [http = 0, server = 0, lan = 0, wan = 0, https = 0] = await freePorts(5);
  const config = {
    ...(persists && {
      server: true,
      bootstrap_expect: 1,
      data_dir: join(folder, "data"),
      performance: { raft_multiplier: 1 },
    }),
    bind_addr: "127.0.0.1",
    client_addr: "127.0.0.1",
    node_name: "node1",
    log_level: "WARN",
    disable_update_check: true,
    ports: {
      http,
      ...(tls && { https }),
      server,
      serf_lan: lan,
      serf_wan: wan,
      dns: -1,
      grpc: -1,
      grpc_tls: -1,
    },
    ...(tls && {
      tls: { https: { ca_file: tls.ca, cert_file: tls.certificate, key_file: tls.key, verify_incoming: true } },
    }),
    ...(hasAcl && {
      acl: { enabled: true, default_policy: "deny", tokens: { initial_management: TOKEN, agent: TOKEN } },
    }),
  };
  writeFileSync(join(folder, "config.json"), JSON.stringify(config));
  const url = `http://127.0.0.1:${http}`;
  const ask = async (method: string, path: string, body?: unknown): Promise<string> => {
    const { status, body: text } = await httpRequest({
      url: `${url}${path}`,
      method,
      timeoutMs: 30_000,
      maxBytes: 64 * 1024 * 1024,
      ...(hasAcl && { headers: { "x-consul-token": TOKEN } }),
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    if (status !== 200) throw new Error(`${method} ${path}: ${status} ${text}`);
    return text;
  };
  let running: ServerProcess | undefined;
  const consul: RealConsul = {
    url,
    tlsUrl: tls === undefined ? "" : `https://127.0.0.1:${https}`,
    token: hasAcl ? TOKEN : undefined,
    ask,
    register: async (service) => void (await ask("PUT", "/v1/agent/service/register", service)),
    deregister: async (id) => void (await ask("PUT", `/v1/agent/service/deregister/${id}`)),
    report: async (checkId, status) =>
      void (await ask("PUT", `/v1/agent/check/update/${checkId}`, { Status: status, Output: "" })),
    put: async (key, value) => void (await ask("PUT", `/v1/kv/${key}`, value)),
    remove: async (key) => void (await ask("DELETE", `/v1/kv/${key}`)),
    signal: (signal) => running?.signal(signal),
    kill: async () => running?.kill(),
    async start() {
      const args = ["agent", ...(persists ? [] : ["-dev"]), "-config-file", join(folder, "config.json")];
      const own = startServerProcess({
        name: "consul",
        program: programPath("consul"),
        args,
        logFile: join(folder, "log"),
        isDetached: false,
      });
      running = own;
      await until(async () => {
        if (!own.isRunning()) throw new Error(await own.exited);
        try {
          // The catalog has its own node once a leader is elected and the agent has synced.
          const nodes = JSON.parse(await ask("GET", "/v1/catalog/nodes")) as readonly unknown[];
          return nodes.length > 0 ? undefined : "no node yet";
        } catch (thrown) {
          return String(thrown);
        }
      });
    },
    async [Symbol.asyncDispose]() {
      await running?.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await consul.start();
  return consul;
}
