import { Agent, request } from "node:https";
import type { TLSSocket } from "node:tls";
import { beforeEach, expect, test } from "vitest";
import { createTestCa } from "../support/certs/test-ca.ts";
import { tlsGateway, tlsSecret } from "../support/discovery/gateway.ts";
import { startDiscoveryServer } from "../support/discovery/server.ts";
import { runGatewayOf } from "../support/envoy/gateway-envoy.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { needs } from "../support/needs.ts";
import { freePorts } from "../support/net/free-ports.ts";
import { startHttpServer } from "../support/net/http-server.ts";
import { startPacedLoad } from "../support/net/start-paced-load.ts";
import { startAnySecrets } from "../support/sds/any-secrets.ts";
import { until } from "../support/wait/until.ts";

beforeEach(needs("envoy"));

const HOST = "a.example";
const PER_SECOND = 500;
/** More than all rotations take: on a busy machine answers come late, requests are sent when they are due all the same. */
const MAX_UNANSWERED = 20_000;
/** Others wait for one of them; handshakes have their own. */
const KEPT_CONNECTIONS = 100;
/** One request of these opens a connection of its own: fifty handshakes a second. */
const HANDSHAKE_EVERY = 10;
const ROTATIONS = 5;
/** With each certificate, so two seconds' worth. */
const REQUESTS = 1000;

const yaml = (...objects: readonly object[]) => objects.map((object) => JSON.stringify(object)).join("\n---\n");

/** Resolves to the serial number of the certificate that the gateway showed. */
function serialOf(port: number, ca: string, agent: Agent | false): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, path: "/", servername: HOST, headers: { host: HOST }, ca, agent };
    const outgoing = request({ ...options, timeout: 60_000 }, (response) => {
      const { serialNumber } = (response.socket as TLSSocket).getPeerCertificate();
      response.resume().once("end", () => {
        if (response.statusCode === 200) resolve(serialNumber);
        else reject(new Error(`status ${response.statusCode}`));
      });
    });
    outgoing.once("timeout", () => outgoing.destroy(new Error("no answer within a minute")));
    outgoing.once("error", reject).end();
  });
}

test.each(["sotw", "delta"] as const)(
  "over %s a gateway's credential rotates under 500 requests per second without a failed handshake or request",
  async (protocol) => {
    const ca = await createTestCa();
    await using application = await startHttpServer((_, response) => response.end("served"));
    const [port = 0] = await freePorts(1);
    const entry = {
      apiVersion: "networking.istio.io/v1",
      kind: "ServiceEntry",
      metadata: { name: "app", namespace: "edge" },
      spec: {
        hosts: ["app.edge.svc.cluster.local"],
        resolution: "STATIC",
        ports: [{ number: 80, name: "http", protocol: "HTTP", targetPort: application.port }],
        endpoints: [{ address: "127.0.0.1" }],
      },
    };
    const rule = {
      apiVersion: "networking.istio.io/v1",
      kind: "VirtualService",
      metadata: { name: "app", namespace: "edge" },
      spec: {
        hosts: ["*"],
        gateways: ["gateway"],
        http: [{ route: [{ destination: { host: "app.edge.svc.cluster.local", port: { number: 80 } } }] }],
      },
    };
    const credential = async () => yaml(tlsSecret("edge", "a", await ca.pair([HOST])));
    await using server = await startDiscoveryServer({
      files: {
        "rules.yaml": yaml(entry, tlsGateway("edge", port, { [HOST]: "a" }), rule),
        "a.yaml": await credential(),
      },
    });
    using folder = temporaryFolder();
    await using _secrets = await startAnySecrets(folder.file("sds"));
    await using envoy = await runGatewayOf(server, { namespace: "edge", protocol, sdsPath: folder.file("sds") });
    // A resumed session shows no certificate.
    const kept = new Agent({ keepAlive: true, maxSockets: KEPT_CONNECTIONS, maxCachedSessions: 0 });
    const ask = (agent: Agent | false) => serialOf(port, ca.rootPem, agent);
    await until("the gateway answers", async () => void (await ask(false)));

    const before = await handshakes(envoy);
    const load = startPacedLoad((number) => ask(number % HANDSHAKE_EVERY === 0 ? false : kept), {
      perSecond: PER_SECOND,
      maxUnanswered: MAX_UNANSWERED,
    });
    for (let rotation = 0; rotation <= ROTATIONS; rotation += 1) {
      if (rotation > 0) server.write("a.yaml", await credential());
      await until(() => expect(load.answers.size).toBe(rotation + 1));
      const enough = load.sent + REQUESTS;
      await until(() => (load.sent >= enough ? undefined : `${load.sent} of ${enough} requests`));
    }
    await load.stop();
    kept.destroy();
    if (load.sent < load.due) {
      const short = `${load.sent} of ${load.due} were sent, then ${MAX_UNANSWERED} waited for an answer`;
      throw new Error(`this machine cannot answer ${PER_SECOND} requests per second: ${short}`);
    }
    expect(load.failures).toEqual([]);
    expect(load.answers.size).toBe(ROTATIONS + 1);
    const answered = [...load.answers.values()].reduce((sum, count) => sum + count, 0);
    expect(answered).toBe(load.sent);
    const after = await handshakes(envoy);
    expect(after.failed - before.failed).toBe(0);
    expect(after.done - before.done).toBeGreaterThanOrEqual(Math.floor(load.sent / HANDSHAKE_EVERY));
    expect(await envoy.stat("update_rejected")).toBe(0);
  },
);

async function handshakes(envoy: { stat(name: string): Promise<number> }) {
  return { done: await envoy.stat("ssl.handshake"), failed: await envoy.stat("ssl.connection_error") };
}
