import { afterEach, expect, test } from "vitest";
import { CloseStack } from "../src/base/close-stack.ts";
import type { JsonObject } from "../src/protobuf/wire/struct.ts";
import { unsupportedParts } from "../test/conformance/discovery/unsupported.ts";
import { discoveryCases } from "../test/conformance/golden-data.ts";
import { fetchText } from "../test/support/agent/agent-process.ts";
import { type DiscoveryProcess, startDiscoveryProcess } from "../test/support/discovery/process.ts";
import { documents, hostOf, serviceEntry, virtualService } from "../test/support/discovery/rules.ts";
import { freePorts } from "../test/support/net/free-ports.ts";
import { countPauses } from "../test/support/wait/count-pauses.ts";
import { until } from "../test/support/wait/until.ts";
import {
  ADS_TYPES,
  type AdsNode,
  type AdsType,
  edsNames,
  type FollowingClient,
  followAds,
  rdsNames,
} from "../test/support/xds/following-client.ts";

const opened = new CloseStack();
afterEach(() => opened.close());

const TYPES = Object.keys(ADS_TYPES) as AdsType[];
const NODE: AdsNode = {
  id: "sidecar~10.20.0.1~a.default~default.svc.cluster.local",
  metadata: { NAMESPACE: "default", CLUSTER_ID: "Kubernetes" },
};
const service = (name: string, index: number, ...addresses: string[]) =>
  serviceEntry({
    name,
    vip: `10.96.0.${index}`,
    ports: [{ number: 80, name: "http", protocol: "HTTP", targetPort: 8080 }],
    endpoints: addresses.map((address) => ({ address, serviceAccount: name })),
  });

async function start(files: Readonly<Record<string, string>>): Promise<DiscoveryProcess> {
  const [http = 0, grpc = 0, secureGrpc = 0, monitoring = 0] = await freePorts(4);
  return startDiscoveryProcess({
    ports: { host: "127.0.0.1", http, grpc, secureGrpc, monitoring },
    files,
    isReady: async () => (await fetchText(http, "/ready")).status === 200,
  });
}

const connect = (server: DiscoveryProcess, protocol: "sotw" | "delta", node: AdsNode = NODE) =>
  followAds(server.ports.grpc, protocol, node);

/** Until everything that clusters and listeners refer to is there as well. */
const untilComplete = (client: FollowingClient) =>
  until(async () => {
    if (client.failure !== undefined) throw new Error(client.failure);
    const wanted = { EDS: edsNames(client.resources("CDS")), RDS: rdsNames(client.resources("LDS")) };
    if (client.resources("CDS").size === 0 || client.resources("LDS").size === 0) return "no clusters or listeners yet";
    const missing = [
      ...wanted.EDS.filter((name) => !client.resources("EDS").has(name)),
      ...wanted.RDS.filter((name) => !client.resources("RDS").has(name)),
    ];
    return missing.length === 0 ? undefined : `missing ${missing.slice(0, 3)}`;
  });

const contentOf = (client: FollowingClient) =>
  Object.fromEntries(
    TYPES.map((type) => [
      type,
      Object.fromEntries([...client.resources(type)].sort().map(([name, bytes]) => [name, bytes.toString("base64")])),
    ]),
  );

const golden = discoveryCases().filter(
  (entry) =>
    ["mixed-ports-one-service", "locality-failover", "sidecar-ingress"].includes(entry.name) &&
    unsupportedParts(entry).length === 0,
);

for (const { name, configYaml, node } of golden) {
  test(`state of the world and delta give the same resources: ${name}`, async () => {
    const server = opened.add(await start({ "config.yaml": configYaml }));
    const given = node as unknown as AdsNode & { metadata: JsonObject };
    const sotw = opened.add(connect(server, "sotw", given));
    const delta = opened.add(connect(server, "delta", given));
    await untilComplete(sotw);
    await untilComplete(delta);
    expect(contentOf(delta)).toEqual(contentOf(sotw));
  });
}

test("both protocols also agree after services and rules came and went", async () => {
  const server = opened.add(
    await start({ "a.yaml": service("a", 1, "10.20.0.1"), "b.yaml": service("b", 2, "10.20.0.2") }),
  );
  const sotw = opened.add(connect(server, "sotw"));
  const delta = opened.add(connect(server, "delta"));
  await untilComplete(sotw);
  await untilComplete(delta);
  server.write(
    "c.yaml",
    documents(
      service("c", 3, "10.20.0.3"),
      virtualService("a", [{ name: "to-c", route: [{ destination: { host: hostOf("c") } }] }]),
    ),
  );
  server.write("b.yaml", undefined);
  const has = (client: FollowingClient, name: string) => client.resources("CDS").has(`outbound|80||${hostOf(name)}`);
  const routes = (client: FollowingClient) => client.resources("RDS").get("80")?.includes("to-c") === true;
  await until(async () =>
    [sotw, delta].every((client) => has(client, "c") && !has(client, "b") && routes(client))
      ? undefined
      : "not there yet",
  );
  await untilComplete(sotw);
  await untilComplete(delta);
  // A deleted cluster's endpoints are no one's any more: delta keeps what was subscribed, state of the world what was sent.
  const alive = (client: FollowingClient) => {
    const { EDS, ...rest } = contentOf(client);
    const names = edsNames(client.resources("CDS"));
    return { ...rest, EDS: names.map((name) => [name, EDS?.[name]]) };
  };
  expect(alive(delta)).toEqual(alive(sotw));
});

test.each(["sotw", "delta"] as const)("a change of endpoints alone sends endpoints alone (%s)", async (protocol) => {
  const server = opened.add(
    await start({ "a.yaml": service("a", 1, "10.20.0.1"), "b.yaml": service("b", 2, "10.20.0.9") }),
  );
  const client = opened.add(connect(server, protocol));
  await untilComplete(client);
  const before = client.responses.length;
  const cluster = `outbound|80||${hostOf("a")}`;
  server.write("a.yaml", service("a", 1, "10.20.0.1", "10.20.0.77"));
  await until(async () =>
    client.resources("EDS").get(cluster)?.includes("10.20.0.77") === true ? undefined : "the endpoint is not there",
  );
  // Something else that is pushed later: nothing can be on its way any more when it has arrived.
  server.write("c.yaml", service("c", 3, "10.20.0.3"));
  await until(async () =>
    client.resources("CDS").has(`outbound|80||${hostOf("c")}`) ? undefined : "the service is not there",
  );
  const later = client.responses.slice(before);
  const end = later.findIndex(({ type }) => type !== "EDS");
  expect(later.slice(0, end).map(({ type, names }) => ({ type, names }))).toEqual([{ type: "EDS", names: [cluster] }]);
});

test("100 writes within a second are at most five pushes, and the last one counts", async () => {
  const server = opened.add(await start({ "a.yaml": service("a", 1, "10.20.0.1") }));
  const client = opened.add(connect(server, "sotw"));
  await untilComplete(client);
  const pushes = () => server.output().match(/\tpush\t/g)?.length ?? 0;
  const [pushesBefore, before] = [pushes(), client.responses.length];
  const pauses = countPauses(100);
  const startedAt = performance.now();
  for (let index = 0; index < 100; index += 1) {
    pauses.tick();
    const name = `write-${index}`;
    server.write("rule.yaml", virtualService("a", [{ name, route: [{ destination: { host: hostOf("a") } }] }]));
    const next = startedAt + (index + 1) * 10;
    while (performance.now() < next)
      await new Promise((resolve) => setTimeout(resolve, Math.max(1, next - performance.now())));
  }
  await until(async () =>
    client.resources("RDS").get("80")?.includes("write-99") === true ? undefined : "the last write is not there",
  );
  expect(pushes() - pushesBefore).toBeLessThanOrEqual(5 + pauses.count);
  expect(pushes() - pushesBefore).toBeGreaterThanOrEqual(1);
  const later = client.responses.slice(before);
  expect(later.filter(({ type }) => type === "RDS").length).toBeLessThanOrEqual(5 + pauses.count);
  expect(later.filter(({ type }) => type !== "RDS")).toEqual([]);
});
