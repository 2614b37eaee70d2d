import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CloseStack } from "../../../src/base/close-stack.ts";
import { MetricRegistry } from "../../../src/base/metric-registry.ts";
import { DNS_RULES } from "../../../src/dns/core/generations.ts";
import { declareDnsMetrics } from "../../../src/dns/metrics.ts";
import type { DnsServer, DnsServerOptions } from "../../../src/dns/options.ts";
import { startDnsServer } from "../../../src/dns/start-dns-server.ts";
import type { NameTable } from "../../../src/xds/name-table.ts";
import { type RecordedLog, recordLog } from "../log/recording-log.ts";

const external = (...ips: string[]) => ({ ips, registry: "External" });
const kubernetes = (shortname: string, namespace: string, ...ips: string[]) => ({
  ips,
  registry: "Kubernetes",
  shortname,
  namespace,
});

/** The name table of the behaviour specification's test cases. */
export const MESH_TABLE: NameTable = {
  table: {
    "www.google.com": external("1.1.1.1"),
    "productpage.ns1.svc.cluster.local": kubernetes("productpage", "ns1", "9.9.9.9"),
    "example.ns2.svc.cluster.local": kubernetes("example", "ns2", "10.10.10.10"),
    "details.ns2.svc.cluster.remote": kubernetes(
      "details",
      "ns2",
      "11.11.11.11",
      "12.12.12.12",
      "13.13.13.13",
      "14.14.14.14",
    ),
    "svc-with-alt.ns1.svc.cluster.local": {
      ...kubernetes("svc-with-alt", "ns1", "15.15.15.15"),
      altHosts: ["svc-with-alt.ns1.svc.clusterset.local"],
    },
    "ipv6.localhost": external("2001:db8::ff00:42:8329"),
    "dual.localhost": external("2.2.2.2", "2001:db8::ff00:42:8329"),
    "ipv4.localhost": external("2.2.2.2"),
    "*.b.wildcard": external("11.11.11.11"),
    "*.wildcard": external("10.10.10.10"),
    "*.svc.mesh.company.net": external("10.1.2.3"),
    "example.localhost.": external("3.3.3.3"),
  },
};

export const SEARCH = "search ns1.svc.cluster.local svc.cluster.local cluster.local";

/** Keeps what is logged at info and above. */
export const recordingLogger = (): RecordedLog => recordLog("info");

export interface DnsFixture extends AsyncDisposable {
  readonly server: DnsServer;
  readonly address: { readonly host: string; readonly port: number };
  readonly log: RecordedLog;
  readonly registry: MetricRegistry;
  readonly resolvConfPath: string;
}

export type FixtureOptions = Partial<DnsServerOptions> & {
  readonly generation?: keyof typeof DNS_RULES;
  /** Text of resolv.conf; null leaves the file out. */
  readonly resolvConf?: string | null;
  /** Null leaves the server without a table. */
  readonly table?: NameTable | null;
};

/** A server on a free loopback port with a resolv.conf of its own. Nothing stays behind when the start fails. */
export async function startDnsFixture(options: FixtureOptions = {}): Promise<DnsFixture> {
  await using opened = new CloseStack();
  const {
    resolvConf = "nameserver 127.0.0.1\n",
    table = MESH_TABLE,
    generation = "master",
    ...serverOptions
  } = options;
  const folder = await mkdtemp(join(tmpdir(), "dns-test-"));
  opened.defer(() => rm(folder, { recursive: true }));
  const resolvConfPath = join(folder, "resolv.conf");
  if (resolvConf !== null) await writeFile(resolvConfPath, resolvConf);
  const log = recordingLogger();
  const registry = new MetricRegistry();
  const server = opened.add(
    await startDnsServer({
      rules: DNS_RULES[generation],
      listen: "localhost:0",
      proxyNamespace: "ns1",
      proxyDomain: "ns1.svc.cluster.local",
      resolvConfPath,
      log,
      metrics: declareDnsMetrics(registry),
      ...serverOptions,
    }),
  );
  if (table !== null) server.updateNameTable(table);
  const [address = { host: "", port: 0 }] = server.addresses;
  const owned = opened.move();
  return { server, address, log, registry, resolvConfPath, [Symbol.asyncDispose]: () => owned.close() };
}
