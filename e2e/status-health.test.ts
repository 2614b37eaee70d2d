import { beforeEach, expect, test } from "vitest";
import { startAgentProcess } from "../test/support/agent/agent-process.ts";
import { needs } from "../test/support/needs.ts";
import { startHttpServer, type TestHttpServer } from "../test/support/net/http-server.ts";
import { until } from "../test/support/wait/until.ts";
import { startMeshControlPlane } from "../test/support/xds/mesh-control-plane.ts";

beforeEach(needs("envoy"));

const untilReported = (reports: readonly (string | undefined)[], count: number) =>
  until(async () => (reports.length >= count ? undefined : `reported so far: ${JSON.stringify(reports)}`));

test("a workload outside Kubernetes is healthy, fails and recovers; the control plane hears of each change once", async () => {
  const reports: (string | undefined)[] = [];
  let status = 200;
  let looks = 0;
  const answer: Parameters<typeof startHttpServer>[0] = (request, response) => {
    expect(request.headers).toMatchObject({ "user-agent": "istio-probe/1.0", "x-check": "yes" });
    looks++;
    response.writeHead(status).end();
  };
  await using app: TestHttpServer = await startHttpServer(answer);
  await using controlPlane = await startMeshControlPlane({
    resources: () => [],
    onHealth: (problem) => void reports.push(problem),
  });
  const readinessProbe = {
    periodSeconds: 1,
    // A busy machine is not what makes it fail.
    timeoutSeconds: 30,
    httpGet: { port: app.port, path: "/health", host: "127.0.0.1", httpHeaders: [{ name: "X-Check", value: "yes" }] },
  };
  await using agent = await startAgentProcess({ controlPlane, proxyConfig: { readinessProbe } });
  await untilReported(reports, 1);
  const seen = looks;
  await until(async () => (looks > seen + 1 ? undefined : "no further looks"));
  expect(reports).toEqual([undefined]);
  status = 500;
  await untilReported(reports, 2);
  status = 204;
  await untilReported(reports, 3);
  expect(reports).toEqual([undefined, "status code was not from [200,400), bad code 500", undefined]);
  expect(agent.stdout()).toContain("\thealthcheck\tsuccess threshold hit, marking as healthy\n");
});

test.each([
  { readinessProbe: {}, says: "one of httpGet, tcpSocket, exec and grpc is needed" },
  { readinessProbe: { exec: { command: [] } }, says: "exec.command is empty" },
])("a probe that cannot be run ends the start cleanly: $says", async ({ readinessProbe, says }) => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  await using agent = await startAgentProcess({ controlPlane, proxyConfig: { readinessProbe } });
  expect(await agent.exited).toBe(255);
  expect(agent.stdout() + agent.stderr()).toContain(says);
  expect(agent.stdout() + agent.stderr()).not.toMatch(/^\s+at /m);
  expect(await agent.envoyPids()).toEqual([]);
});

test("a probe that makes no sense ends the agent before Envoy is started", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  await using agent = await startAgentProcess({ controlPlane, proxyConfig: { readinessProbe: { httpGet: {} } } });
  expect(await agent.exited).toBe(255);
  expect(agent.stderr()).toMatch(
    /failed to start workload health check: .*readinessProbe of the proxy configuration: httpGet\.port is missing/,
  );
  expect(agent.stdout()).not.toContain("Envoy command");
});
