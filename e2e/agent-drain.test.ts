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

/** One request on a connection of its own: the status, or "refused", upon which a client goes to another instance. */
function ask(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, agent: false }, (answer) => {
      answer.on("error", reject).resume();
      answer.on("end", () => resolve(String(answer.statusCode)));
    });
    sent.on("error", (failure: NodeJS.ErrnoException) => {
      if (failure.code === "ECONNREFUSED") resolve("refused");
      else reject(failure);
    });
    sent.end();
  });
}

test("SIGTERM under load cuts no request off: each is answered or refused before it began", async () => {
  const ANSWER_MS = 50;
  await using upstream = await startHttpServer((_request, response) => {
    setTimeout(() => response.end("hi"), ANSWER_MS);
  });
  const [port = 0] = await freePorts(1);
  await using controlPlane = await startMeshControlPlane({
    resources: () => [
      staticCluster("app", upstream.port, false),
      httpListener({ name: "in", port, cluster: "app", inbound: true }),
    ],
  });
  await using agent = await startAgentProcess({ controlPlane, proxyConfig: { terminationDrainDuration: "2s" } });
  await agent.untilReady();
  await until(async () => ((await ask(port)) === "200" ? undefined : "not served yet"));
  const load = startLoad(() => ask(port), { lanes: 8, pauseMs: 1 });
  await until(async () => (load.requests > 100 ? undefined : "no load yet"));
  agent.kill("SIGTERM");
  expect(await agent.exited).toBe(0);
  await load.stop();
  expect(load.failures).toEqual([]);
  expect([...load.answers.keys()].sort()).toEqual(["200", "refused"]);
});
