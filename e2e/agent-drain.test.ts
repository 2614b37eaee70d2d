import { request } from "node:http";
import { beforeEach, expect, test } from "vitest";
import { freePorts, startAgentProcess } from "../test/support/agent/agent-process.ts";
import { needs } from "../test/support/needs.ts";
import { startHttpServer } from "../test/support/net/http-server.ts";
import { startLoad } from "../test/support/net/start-load.ts";
import { until } from "../test/support/wait/until.ts";
import { startMeshControlPlane } from "../test/support/xds/mesh-control-plane.ts";
import { httpListener, staticCluster } from "../test/support/xds/mesh-resources.ts";

beforeEach(needs("envoy"));

/** One request on a connection of its own: its status, or the code of its failure. */
function ask(port: number, path = "/"): Promise<string> {
  return new Promise((resolve) => {
    const fail = (failure: NodeJS.ErrnoException) => resolve(failure.code ?? failure.message);
    const sent = request({ host: "127.0.0.1", port, path, agent: false }, (answer) => {
      answer.on("error", fail).resume();
      answer.on("end", () => resolve(String(answer.statusCode)));
    });
    sent.on("error", fail).end();
  });
}

/** With clients that never stop there is always a connection: the maximum ends the drain. */
const EXIT_ON_ZERO = {
  EXIT_ON_ZERO_ACTIVE_CONNECTIONS: "true",
  MINIMUM_DRAIN_DURATION: "1s",
  MAXIMUM_DRAIN_DURATION: "3s",
};

test.each([
  { of: "the drain duration", env: {} },
  { of: "the maximum that connections are waited for", env: EXIT_ON_ZERO },
])(
  "SIGTERM under load, at the end of $of: every request that has reached the application is answered",
  async ({ env }) => {
    const ANSWER_MS = 50;
    const begun = new Set<string>();
    await using upstream = await startHttpServer(({ url = "" }, response) => {
      begun.add(url);
      setTimeout(() => response.end("hi"), ANSWER_MS);
    });
    const [port = 0] = await freePorts(1);
    await using controlPlane = await startMeshControlPlane({
      resources: () => [
        staticCluster("app", upstream.port, false),
        httpListener({ name: "in", port, cluster: "app", inbound: true }),
      ],
    });
    await using agent = await startAgentProcess({ controlPlane, env, proxyConfig: { terminationDrainDuration: "2s" } });
    await agent.untilReady();
    await until(async () => ((await ask(port)) === "200" ? undefined : "not served yet"));
    let sent = 0;
    const load = startLoad(
      async () => {
        sent += 1;
        const path = `/${sent}`;
        const answer = await ask(port, path);
        // What was refused, or reset by the kernel before Envoy took the connection, has begun nowhere: a client may ask elsewhere.
        if (answer !== "200" && begun.has(path)) throw new Error(`${answer} after it had begun`);
        return answer;
      },
      { lanes: 8, pauseMs: 1 },
    );
    await until(async () => (load.requests > 100 ? undefined : "no load yet"));
    agent.kill("SIGTERM");
    expect(await agent.exited).toBe(0);
    await until(() => load.answers.has("ECONNREFUSED") || "no request after the end yet");
    await load.stop();
    expect(load.failures).toEqual([]);
    expect(load.answers.get("200")).toBeGreaterThan(100);
  },
);

/** As a kubelet and the endpoints that follow it: once the agent says that it is not ready, no new connection comes. */
test.each([{ exitOnZero: "false" }, { exitOnZero: "true" }])(
  "SIGTERM under load of clients that go by readiness loses nothing; exit on zero connections: $exitOnZero",
  async ({ exitOnZero }) => {
    await using upstream = await startHttpServer((_, response) => void setTimeout(() => response.end("hi"), 50));
    const [port = 0] = await freePorts(1);
    await using controlPlane = await startMeshControlPlane({
      resources: () => [
        staticCluster("app", upstream.port, false),
        httpListener({ name: "in", port, cluster: "app", inbound: true }),
      ],
    });
    await using agent = await startAgentProcess({
      controlPlane,
      // Long enough for a busy machine to notice it and to send the requests below.
      proxyConfig: { terminationDrainDuration: "10s" },
      env: { EXIT_ON_ZERO_ACTIVE_CONNECTIONS: exitOnZero, MINIMUM_DRAIN_DURATION: "10s" },
    });
    await agent.untilReady();
    await until(async () => ((await ask(port)) === "200" ? undefined : "not served yet"));
    const load = startLoad(() => ask(port), { lanes: 8, pauseMs: 1 });
    await until(async () => (load.requests > 100 ? undefined : "no load yet"));
    agent.kill("SIGTERM");
    await until(async () => ((await agent.get("status", "/healthz/ready")).status === 200 ? "still ready" : undefined));
    const whenNotReady = load.requests;
    await until(async () => (load.requests > whenNotReady + 50 ? undefined : "endpoints are still there"));
    await load.stop();
    expect([...load.answers.keys()]).toEqual(["200"]);
    expect(await agent.exited).toBe(0);
  },
);
