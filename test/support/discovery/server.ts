import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Discovery, StartDiscoveryOptions } from "../../../src/discovery/options.ts";
import { DIRECT_PARSER } from "../../../src/discovery/parse/config-parser.ts";
import { startDiscovery } from "../../../src/discovery/start-discovery.ts";
import { type RecordedLog, recordLog } from "../log/recording-log.ts";

/** The control plane in this process, on free ports of the loopback, with a directory of rules that the test writes to. */
export interface DiscoveryServer extends AsyncDisposable {
  readonly discovery: Discovery;
  readonly ports: { readonly http: number; readonly grpc: number; readonly secureGrpc: number };
  readonly folder: string;
  readonly log: RecordedLog;
  /** Undefined removes the file. */
  write(file: string, text: string | undefined): void;
  get(path: string, init?: RequestInit): Promise<Response>;
  /** Stops the server and starts another on the same directories and ports. */
  restart(): Promise<void>;
}

export interface DiscoveryServerOptions extends Partial<StartDiscoveryOptions> {
  readonly files?: Readonly<Record<string, string>>;
  readonly mesh?: string;
}

export async function startDiscoveryServer(given: DiscoveryServerOptions = {}): Promise<DiscoveryServer> {
  const { files = {}, mesh, ...options } = given;
  const folder = mkdtempSync(join(tmpdir(), "discovery-server-"));
  const config = join(folder, "config");
  const write = (file: string, text: string | undefined) => {
    const path = join(config, file);
    if (text === undefined) return rmSync(path);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  mkdirSync(config);
  for (const [file, text] of Object.entries(files)) write(file, text);
  const meshFile = join(folder, "mesh.yaml");
  writeFileSync(meshFile, mesh ?? "");
  const log = recordLog();
  const host = "127.0.0.1";
  const start = (ports: DiscoveryServer["ports"]) =>
    startDiscovery({
      log,
      // The test runner's compiler does not reach into workers.
      parser: DIRECT_PARSER,
      reviewThread: "none",
      configDir: config,
      meshConfigFile: meshFile,
      caDirectory: join(folder, "ca"),
      ca: { selfSigned: { key: { type: "ecdsa", curve: "P256" } } },
      ports: {
        http: { host, port: ports.http },
        grpc: { host, port: ports.grpc },
        secureGrpc: { host, port: ports.secureGrpc },
      },
      push: { debounceAfterMs: 20, debounceMaxMs: 1000 },
      shutdownMs: 1000,
      ...options,
    });
  const portsOf = ({ addresses }: Discovery) => ({
    http: portOf(addresses.http),
    grpc: portOf(addresses.grpc),
    secureGrpc: portOf(addresses.secureGrpc),
  });
  let discovery = await start({ http: 0, grpc: 0, secureGrpc: 0 }).catch((thrown: unknown) => {
    rmSync(folder, { recursive: true, force: true });
    throw thrown;
  });
  const ports = portsOf(discovery);
  return {
    get discovery() {
      return discovery;
    },
    ports,
    folder,
    log,
    write,
    get: (path, init) => fetch(`http://${host}:${ports.http}${path}`, init),
    restart: async () => {
      await discovery.stop();
      discovery = await start(ports);
    },
    [Symbol.asyncDispose]: async () => {
      await discovery.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function portOf(address: object | undefined): number {
  return address !== undefined && "port" in address ? Number(address.port) : 0;
}
