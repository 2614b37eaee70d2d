import { describe, expect, test } from "vitest";
import { snapshotOfObjects } from "../src/discovery/index.ts";
import { simulatedMesh, workloadsOf } from "../src/explain/index.ts";
import type { KubernetesObject } from "../src/mesh-model/kubernetes-object.ts";
import { type Simulation, simulateRequest } from "../src/simulate/index.ts";
import { startDiscoveryMesh } from "../test/support/discovery/mesh.ts";
import { documents } from "../test/support/discovery/rules.ts";
import { meshOfCase } from "../test/support/mesh-model/view-of-case.ts";
import { sharedPlace } from "../test/support/shared-place.ts";
import { createTokens, type RandomCall, randomCall } from "../test/support/simulate/random-call.ts";
import { CLIENT, labelsOf, PORTS, randomMesh, SERVERS, VIPS } from "../test/support/simulate/random-mesh.ts";
import { createRandomSource } from "../test/support/simulate/random-source.ts";
import { until } from "../test/support/wait/until.ts";

const NEEDS = ["envoy", "root", "netns", "iptables", "setpriv"] as const;
const ROUNDS = 20;
const CALLS = 25;
const SEED = 20_261_117;
/** One line per request, found again by the number that the request carries. */
const LOG_FORMAT = "CASE %REQ(X-CASE)% %RESPONSE_CODE% %RESPONSE_FLAGS% %UPSTREAM_CLUSTER_RAW% %UPSTREAM_HOST% END";

const started = sharedPlace(NEEDS, async (opened) => {
  const tokens = createTokens(Math.floor(Date.now() / 1000));
  const mesh = opened.add(
    await startDiscoveryMesh({
      files: {},
      mesh: `accessLogFile: /dev/stdout\naccessLogFormat: "${LOG_FORMAT}"\n`,
      workloads: [
        { name: CLIENT.name, address: CLIENT.address, labels: { app: "client" } },
        { name: "v1", address: SERVERS.v1, labels: labelsOf("v1") },
        { name: "v2", address: SERVERS.v2, labels: labelsOf("v2") },
        { name: "plain", address: SERVERS.plain, hasSidecar: false },
      ],
    }),
  );
  for (const name of ["v1", "v2", "plain"]) {
    await mesh.workload(name).listen({ kind: "http", port: PORTS.http, name });
    await mesh.workload(name).listen({ kind: "tcp", port: PORTS.tcp, name });
  }
  await mesh.workload("plain").listen({ kind: "http", port: 80, name: "plain" });
  return { mesh, tokens };
});

/** Puts the rules in force and waits until every proxy works by them. */
async function apply(round: number, objects: readonly object[]): Promise<void> {
  const { mesh } = started();
  mesh.controlPlane.write("mesh.yaml", documents(...objects.map((object) => `${JSON.stringify(object)}\n`)));
  const marker = {
    address: VIPS.marker,
    port: 80,
    host: "marker.default.svc.cluster.local",
    fresh: true,
    timeoutMs: 2000,
  };
  await until(async () => {
    const [answer] = await mesh.workload(CLIENT.name).http(marker);
    return answer?.body === `round-${round}`
      ? undefined
      : `the client's proxy has not got round ${round}: ${mesh.controlPlane.output().slice(-500)}`;
  });
  for (const name of ["v1", "v2"]) {
    await until(async () => {
      const dump = JSON.parse(await mesh.workload(name).admin("/config_dump?resource=dynamic_listeners")) as {
        readonly configs: readonly {
          readonly name: string;
          readonly active_state?: object;
          readonly warming_state?: object;
        }[];
      };
      const listener = dump.configs.find((one) => one.name === "virtualInbound");
      const has = JSON.stringify(listener?.active_state ?? {}).includes(`policy[mark-${round}]`);
      return has && listener?.warming_state === undefined ? undefined : `${name} has not got round ${round}`;
    });
    // Envoy tells of a listener a moment before its workers have it: a whole exchange is a turn of theirs.
    await mesh
      .workload("plain")
      .http({ address: mesh.workload(name).address, port: PORTS.http, host: "any", fresh: true });
  }
}

/** What happened, in the words of an expectation. */
interface Seen {
  /** A status, the name of an application, or that the connection was closed. */
  readonly answer: string;
}

async function send(index: number, { call, address }: RandomCall): Promise<Seen> {
  const client = started().mesh.workload(CLIENT.name);
  const { port, path, method, headers } = call;
  if (call.speaks === "bytes") {
    const { received, closed, error } = await client.tcp({ address, port, send: "hello" });
    return { answer: received === "" ? `closed ${closed} ${error ?? ""}`.trim() : (received.split(" ")[0] ?? "") };
  }
  const host = port === 80 ? call.host : `${call.host}:${port}`;
  const sent = { ...headers, "x-case": String(index) };
  const [answer] = await client.http({ address, port, host, path, method, headers: sent, fresh: true });
  return { answer: String(answer?.status ?? 0) };
}

const APPLICATIONS = new Map<string, string>([
  [SERVERS.v1, "v1"],
  [SERVERS.v2, "v2"],
  [SERVERS.plain, "plain"],
]);

interface LogLine {
  readonly status: string;
  readonly flags: string;
  readonly cluster: string;
  readonly host: string;
}

/** Lines of the client's proxy by the number of the request. */
async function readLog(wanted: readonly number[]): Promise<ReadonlyMap<number, LogLine>> {
  const client = started().mesh.workload(CLIENT.name);
  const found = new Map<number, LogLine>();
  await until(async () => {
    // Lines are written every ten seconds, or when the file is opened again.
    await client.http({
      address: "127.0.0.1",
      port: 15000,
      host: "localhost",
      path: "/reopen_logs",
      method: "POST",
      fresh: true,
    });
    for (const [, id, status = "", flags = "", cluster = "", host = ""] of client.agent
      ?.stdout()
      .matchAll(/CASE (\d+) (\S+) (\S+) (\S+) (\S+) END/g) ?? []) {
      found.set(Number(id), { status, flags, cluster, host });
    }
    const missing = wanted.filter((index) => !found.has(index));
    return missing.length === 0 ? undefined : `no line for ${missing.join()}`;
  });
  return found;
}

function simulateAll(objects: readonly object[]) {
  const snapshot = snapshotOfObjects(objects as readonly KubernetesObject[], meshOfCase(undefined));
  const client = {
    namespace: "default",
    name: CLIENT.name,
    addresses: [CLIENT.address],
    hasProxy: true,
    node: {
      id: `sidecar~${CLIENT.address}~client.default~default.svc.cluster.local`,
      metadata: {
        NAMESPACE: "default",
        INSTANCE_IPS: CLIENT.address,
        LABELS: { app: "client" },
        SERVICE_ACCOUNT: CLIENT.name,
        CLUSTER_ID: "Kubernetes",
      },
    },
  };
  const mesh = simulatedMesh({ snapshot, workloads: [client, ...workloadsOf(snapshot, [])], now: Date.now() });
  return (call: RandomCall["call"]) => simulateRequest(mesh.proxyOf(client), call, mesh);
}

interface Allowed {
  /** `status flags application`. */
  readonly text: string;
  readonly cluster: string | undefined;
}

/** What the simulation allows to be seen. */
function expected(simulation: Simulation, isTcp: boolean): readonly Allowed[] {
  return simulation.flatMap(({ value }) => {
    const { kind, cluster } = value;
    const arrives = kind === "endpoint" || kind === "passthrough";
    const applications = value.endpoints.map((where) => APPLICATIONS.get(where.split(":")[0] ?? "") ?? where);
    if (isTcp) return (arrives ? applications : ["closed"]).map((text) => ({ text, cluster }));
    const flags = value.flags.length === 0 ? "-" : [...value.flags].sort().join();
    if (arrives) return applications.map((name) => ({ text: `200 ${flags} ${name}`, cluster }));
    const isRefused = kind === "denied" || kind === "unauthenticated";
    return [{ text: `${value.status ?? 0} ${flags}${isRefused ? " refused" : ""}`, cluster }];
  });
}

function observed({ answer }: Seen, line: LogLine | undefined, isTcp: boolean): string {
  if (isTcp) return answer.startsWith("closed") ? "closed" : answer;
  if (line === undefined) return answer;
  const flags = line.flags === "-" ? "-" : line.flags.split(",").sort().join();
  const application = APPLICATIONS.get(line.host.split(":")[0] ?? "");
  if (line.status === "403" || line.status === "401") return `${line.status} ${flags} refused`;
  return line.status === "200" && application !== undefined ? `200 ${flags} ${application}` : `${line.status} ${flags}`;
}

/** Connections that the client's proxy passes on as bytes leave no line of a request: the answer alone is known. */
function isAllowed(real: string, line: LogLine | undefined, allowed: readonly Allowed[], isTcp: boolean): boolean {
  if (line === undefined && !isTcp) return allowed.some(({ text }) => text.split(" ")[0] === real);
  return allowed.some(({ text, cluster }) => {
    // The log names the route's cluster also where a fault answers before it is called.
    const isSameCluster = line === undefined || line.cluster === "-" || (cluster ?? line.cluster) === line.cluster;
    return text === real && isSameCluster;
  });
}

describe("random requests in random meshes", () => {
  const random = createRandomSource(SEED);
  let index = 0;
  test.each(Array.from({ length: ROUNDS }, (_, round) => round))(
    "round %i: real proxies do what the simulation says",
    async (round) => {
      const { tokens } = started();
      const objects = randomMesh(random, round, tokens.keys);
      await apply(round, objects);
      const simulate = simulateAll(objects);
      const cases = Array.from({ length: CALLS }, () => {
        let drawn = randomCall(random, tokens.tokens);
        // Nobody has the address of a service: what passes through to it meets nobody, after the longest wait.
        while (
          simulate(drawn.call).some(
            ({ value }) => value.kind === "passthrough" && value.endpoints.some((where) => where.startsWith("10.96.")),
          )
        ) {
          drawn = randomCall(random, tokens.tokens);
        }
        index += 1;
        return { index, drawn, isTcp: drawn.call.speaks === "bytes", simulation: simulate(drawn.call) };
      });
      const seen = await Promise.all(cases.map(({ index: id, drawn }) => send(id, drawn)));
      const log = await readLog(
        cases.filter(({ isTcp, simulation }) => !isTcp && isLogged(simulation)).map(({ index: id }) => id),
      );
      const differences = cases.flatMap(({ index: id, drawn, isTcp, simulation }, at) => {
        const allowed = expected(simulation, isTcp);
        const line = log.get(id);
        const real = observed(seen[at] ?? { answer: "" }, line, isTcp);
        if (isAllowed(real, line, allowed, isTcp)) return [];
        const ways = simulation.map(({ value, decisions }) => [
          value.text,
          ...decisions.map(({ proxy, step, text }) => `${proxy} ${step}: ${text}`),
        ]);
        return [{ call: drawn.call, real, line, allowed, ways }];
      });
      expect(differences, JSON.stringify({ differences, objects }, undefined, 1)).toEqual([]);
    },
    90_000,
  );
});

/** The client's proxy looks at the request, so that it writes a line about it. */
function isLogged(simulation: Simulation): boolean {
  return simulation.every(({ decisions }) =>
    decisions.some(({ proxy, step }) => proxy === "default/client" && step === "virtual host"),
  );
}
