import { expect, test } from "vitest";
import { startDiscoveryServer } from "../support/discovery/server.ts";
import { until } from "../support/wait/until.ts";

/** What reads well and does nothing here: a kind of a cluster, a kind that nobody knows, and a member that nothing acts on. */
const RULES = `apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: 80}]}
---
apiVersion: example.com/v1
kind: Wish
metadata: {name: wish}
---
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: edge, namespace: default}
spec:
  selector: {app: edge}
  servers:
    - port: {number: 80, name: http, protocol: HTTP}
      hosts: ["*"]
      defaultEndpoint: 127.0.0.1:8080
`;
const SAID = [
  { line: 2, field: "kind", reason: /^v1 Service is not a kind that is read: it has no effect; .* ServiceEntry/ },
  { line: 7, field: "kind", reason: /^example\.com\/v1 Wish is not a kind that is read: it has no effect$/ },
  { line: 18, field: "spec.servers[0].defaultEndpoint", reason: /^has no effect: routes of VirtualServices/ },
].map(({ reason, ...rest }) => ({ ...rest, reason: expect.stringMatching(reason) }));

test("what has no effect says so once, with file and line, in the log and in the status of the rules", async () => {
  await using server = await startDiscoveryServer({ files: { "rules.yaml": RULES } });
  const said = () => {
    const lines = server.log.lines.filter(({ message }) => message === "rule object has a warning");
    return lines.map(({ fields: { file, ...rest } }) => ({ ...rest, isOfFile: String(file).endsWith("rules.yaml") }));
  };
  const once = SAID.map((entry) => ({ ...entry, isOfFile: true }));
  expect(said()).toEqual(once);
  const other = `apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: late, namespace: default}
spec: {host: late.example}
`;
  server.write("other.yaml", other);
  const listed = async () => (await server.get("/config")).text();
  await until("the other file is read", async () => (await listed()).includes("late.example"));
  expect(said()).toEqual(once);
  const { problems } = JSON.parse(await listed()) as { problems: readonly { readonly message: string }[] };
  expect(problems.map(({ message }) => message)).toEqual(SAID.map(({ reason }) => reason));
});

test("the config API tells who puts an object what of it has no effect, and refuses kinds that are not read", async () => {
  await using server = await startDiscoveryServer();
  const put = async (object: object) => {
    const answer = await server.get("/config", { method: "PUT", body: JSON.stringify(object) });
    return { status: answer.status, text: await answer.text() };
  };
  const gateway = {
    apiVersion: "networking.istio.io/v1",
    kind: "Gateway",
    metadata: { name: "edge", namespace: "default" },
    spec: {
      selector: { app: "edge" },
      servers: [
        { port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["*"], defaultEndpoint: "127.0.0.1:8080" },
      ],
    },
  };
  const taken = await put(gateway);
  expect(taken.status).toBe(201);
  expect(taken.text).toContain("defaultEndpoint");
  expect(taken.text).toContain("has no effect");
  const refused = await put({ apiVersion: "v1", kind: "Service", metadata: { name: "web", namespace: "default" } });
  expect(refused.status).toBeGreaterThanOrEqual(400);
  expect(refused.text).toContain("v1 Service is not a kind that is read");
});
