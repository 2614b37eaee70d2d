import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { freePorts, startAgentProcess } from "../test/support/agent/agent-process.ts";
import { startFakeCa } from "../test/support/certs/fake-ca.ts";
import { needs } from "../test/support/needs.ts";
import { connectSds, decodeSecrets, node, SECRET_TYPE } from "../test/support/sds/client.ts";
import { until } from "../test/support/wait/until.ts";
import { startMeshControlPlane } from "../test/support/xds/mesh-control-plane.ts";
import { httpListener } from "../test/support/xds/mesh-resources.ts";

beforeEach(needs("envoy"));

test("a CA that hangs is given up after ten seconds and reported; files are served meanwhile, and the next answer is taken", async () => {
  const [port = 0] = await freePorts(1);
  await using controlPlane = await startMeshControlPlane({
    resources: () => [httpListener({ name: "in", port, answer: "x", mutualTls: true })],
  });
  await using ca = await startFakeCa();
  ca.setAnswer(({ cancelled }) => new Promise((_, fail) => cancelled.addEventListener("abort", () => fail("gone"))));
  await using agent = await startAgentProcess({
    controlPlane,
    files: { "extra.pem": readFileSync(controlPlane.rootFile, "utf8") },
    env: { CA_ADDR: ca.endpoint, CA_ROOT_CA: ca.rootFile },
  });
  await until(async () => (ca.calls.length > 0 ? undefined : "the CA was not asked"));

  await using client = connectSds(join(agent.folder, "var/run/secrets/workload-spiffe-uds/socket"));
  const stream = client.stream();
  const name = `file-root:${join(agent.folder, "extra.pem")}`;
  stream.send({ node: node(), type_url: SECRET_TYPE, resource_names: [name] });
  expect(decodeSecrets(await stream.next())[0]?.name).toBe(name);

  await until(async () => {
    const { status, body } = await agent.get("status", "/healthz/ready");
    return status !== 200 && body.includes("no answer within 10000 ms") ? undefined : `${status} ${body}`;
  });
  ca.setAnswer((_call, sign) => sign());
  await agent.untilReady();
  expect(`${agent.stdout()}${agent.stderr()}`).not.toContain("PRIVATE KEY");
});
