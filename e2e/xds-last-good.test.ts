import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:https";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { fetchText, freePorts, startAgentProcess } from "../test/support/agent/agent-process.ts";
import { needs } from "../test/support/needs.ts";
import { until } from "../test/support/wait/until.ts";
import { startMeshControlPlane } from "../test/support/xds/mesh-control-plane.ts";
import { httpListener } from "../test/support/xds/mesh-resources.ts";

beforeEach(needs("envoy"));

/** The way to the control plane, which the test opens and shuts: shut, connections are refused. */
function createGate(port: number, to: number) {
  const sockets = new Set<Socket>();
  let server: Server | undefined;
  return {
    async open() {
      server = createServer((client) => {
        const upstream = connect(to, "127.0.0.1");
        for (const [from, into] of [
          [client, upstream],
          [upstream, client],
        ] as const) {
          sockets.add(from);
          from
            .on("error", () => undefined)
            .on("close", () => into.destroy())
            .pipe(into);
        }
      }).listen(port, "127.0.0.1");
      await new Promise((resolve) => server?.once("listening", resolve));
    },
    async shut() {
      const closed = new Promise((resolve) => server?.close(resolve));
      for (const socket of sockets) socket.destroy();
      sockets.clear();
      await closed;
    },
  };
}

function getMutual(port: number, certs: string): Promise<string> {
  const file = (name: string) => readFileSync(join(certs, name));
  return new Promise((resolve, reject) => {
    const options = { cert: file("cert-chain.pem"), key: file("key.pem"), rejectUnauthorized: false, agent: false };
    request({ host: "127.0.0.1", port, path: "/", ...options }, async (response) => {
      let body = "";
      for await (const chunk of response) body += chunk;
      resolve(body);
    })
      .on("error", reject)
      .end();
  });
}

test.each([true, false])(
  "agent and Envoy restart while control plane and CA are down: traffic flows, and goes on when they are back (delta: %s)",
  async (delta) => {
    const kept = mkdtempSync(join(tmpdir(), "kept-"));
    const [lastGood, certs] = [join(kept, "last-good"), join(kept, "certs")];
    const [plain = 0, mutual = 0, discovery = 0] = await freePorts(3);
    await using controlPlane = await startMeshControlPlane({
      resources: () => [
        httpListener({ name: "plain", port: plain, answer: "hi" }),
        httpListener({ name: "mutual", port: mutual, answer: "hi, friend", mutualTls: true }),
      ],
    });
    const gate = createGate(discovery, controlPlane.port);
    await gate.open();
    const options = {
      controlPlane,
      env: { XDS_LAST_GOOD: lastGood, OUTPUT_CERTS: certs, ISTIO_DELTA_XDS: String(delta) },
      proxyConfig: { discoveryAddress: `localhost:${discovery}` },
    };
    {
      await using agent = await startAgentProcess(options);
      await agent.untilReady();
      await until(async () => ((await fetchText(plain, "/")).body === "hi" ? undefined : "no listener"));
      await until(async () => ((await getMutual(mutual, certs)) === "hi, friend" ? undefined : "no TLS"));
      await until(async () => (readdirSync(lastGood).length === 1 ? undefined : "nothing kept yet"));
      agent.kill("SIGTERM");
      expect(await agent.exited).toBe(0);
    }
    await gate.shut();

    await using agent = await startAgentProcess(options);
    await agent.untilReady();
    expect((await agent.get("status", "/healthz/ready")).body).toMatch(/^serving last known good from \d{4}-/);
    expect((await fetchText(plain, "/")).body).toBe("hi");
    await until(async () => ((await getMutual(mutual, certs)) === "hi, friend" ? undefined : "no TLS"));
    expect(agent.stdout()).toMatch(/no control plane can be reached; serving last known good from/);
    expect(JSON.parse((await agent.get("status", "/debug/xdsz")).body)).toMatchObject([{ source: "last-known-good" }]);

    await gate.open();
    await until(async () => {
      expect((await fetchText(plain, "/")).body).toBe("hi");
      const streams = JSON.parse((await agent.get("status", "/debug/xdsz")).body) as {
        source: string;
        responses: number;
      }[];
      return streams.some(({ source, responses }) => source === "control-plane" && responses > 1)
        ? undefined
        : "not back";
    }, 40_000);
    await expect.poll(async () => (await agent.get("status", "/healthz/ready")).body).toBe("");
    const stats = (await agent.get("admin", "/stats?filter=listener_manager.listener_(added|modified|removed)")).body;
    expect(stats).toMatch(/listener_removed: 0\b/);
    agent.kill("SIGTERM");
    await agent.exited;
    await gate.shut();
    rmSync(kept, { recursive: true });
  },
);
