import { buildStamp, formatVersion } from "../../base/build-stamp.ts";
import type { Logger } from "../../base/logger.ts";
import {
  type Console,
  type ConsoleSources,
  consolePageFolder,
  createMemoryBook,
  createScrapeAccess,
  type ServiceInfo,
  type SourceWorkload,
  startConsole,
  writeConsoleLink,
} from "../../console/index.ts";
import type { Connection } from "../ads/connection.ts";
import type { Discovery } from "../options.ts";
import { createRuleObjects } from "./rule-objects.ts";

export interface DiscoveryConsoleOptions {
  readonly discovery: Pick<Discovery, "connections" | "snapshot" | "store">;
  readonly listen: { readonly host: string; readonly port: number };
  readonly systemNamespace: string;
  readonly log: Logger;
}

const STATUS_PORT = 15_020;

/** A console of a control plane: its connected proxies, its services and its rules. Objects put here end with the process, as those of `/config`. */
export async function startDiscoveryConsole({
  discovery,
  listen,
  systemNamespace,
  log,
}: DiscoveryConsoleOptions): Promise<Console> {
  const console = await startConsole({
    listen,
    takesNextPort: false,
    pageFolder: consolePageFolder(import.meta.url),
    sources: sourcesOf(discovery, systemNamespace),
    book: createMemoryBook(),
    log,
  });
  log.info("the console is served", { url: console.url, linkWithToken: await writeConsoleLink(console) });
  return console;
}

function sourcesOf(discovery: DiscoveryConsoleOptions["discovery"], systemNamespace: string): ConsoleSources {
  const startedAt = Date.now();
  return {
    identity: {
      version: formatVersion(buildStamp),
      scope: "control-plane",
      name: "discovery",
      namespace: systemNamespace,
      startedAt,
    },
    entries: () => ({}),
    services: () => servicesOf(discovery),
    workloads: () => discovery.connections.all().map(workloadOf),
    controlPlane: async () => ({ phase: "running", sinceAt: startedAt, pid: process.pid, restarts: 0 }),
    problems: () => discovery.snapshot.configs.problems.map(({ file, line, message }) => `${file}:${line}: ${message}`),
    objects: createRuleObjects(discovery),
  };
}

function servicesOf({ snapshot }: Pick<Discovery, "snapshot">): readonly ServiceInfo[] {
  return snapshot.services.map(({ hostname, name, namespace, ports, meshExternal }) => ({
    name: /^([^.]+)\.[^.]+\.svc\./.exec(hostname)?.[1] ?? name,
    namespace,
    host: hostname,
    protocol: ports.some(({ protocol }) => protocol.startsWith("HTTP"))
      ? "http"
      : ports.some(({ protocol }) => protocol.startsWith("GRPC"))
        ? "grpc"
        : "tcp",
    ports: ports.map(({ port }) => port),
    entry: false,
    external: meshExternal,
  }));
}

/** The label that names a workload's service for people; rules go by selectors, which may differ. */
const NAME_LABELS = ["service.istio.io/canonical-name", "app.kubernetes.io/name", "app"];
const VERSION_LABELS = ["service.istio.io/canonical-revision", "app.kubernetes.io/version", "version"];

function workloadOf({ node, identities }: Connection): SourceWorkload {
  const { id, namespace, labels, addresses, type, generator, serviceAccount, metadata, istioVersion } = node;
  const first = (names: readonly string[]) =>
    names.map((name) => labels[name]).find((value) => value !== undefined && value !== "");
  const [address = "", service, version] = [addresses[0], first(NAME_LABELS), first(VERSION_LABELS)];
  const name = id.endsWith(`.${namespace}`) ? id.slice(0, -namespace.length - 1) : id;
  const isProxyless = generator === "grpc";
  const port =
    Number((metadata.PROXY_CONFIG as { readonly statusPort?: unknown } | undefined)?.statusPort) || STATUS_PORT;
  const [identity] = identities.filter((each) => each.startsWith("spiffe://"));
  return {
    id: `${namespace}/${name}`,
    name,
    namespace,
    ...(service === undefined ? {} : { service }),
    ...(version === undefined ? {} : { version }),
    kind: isProxyless ? "proxyless" : type === "router" ? "gateway" : "sidecar",
    address,
    labels,
    ...(serviceAccount === "" ? {} : { serviceAccount }),
    ...(identity === undefined ? {} : { identity }),
    ports: [{ name: "status", port }],
    restarts: [],
    access: createScrapeAccess(address, port, istioVersion),
  };
}
