import { request as httpsRequest } from "node:https";
import { connect } from "node:tls";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { silentLogger } from "../../src/base/logger.ts";
import { startHttpServer } from "../../src/net/http-server/start-http-server.ts";
import { createScriptedCluster } from "../support/discovery/scripted-cluster.ts";
import { ruleDefinitions } from "../support/kubernetes/rule-definitions.ts";
import { startLoad } from "../support/net/start-load.ts";
import { until } from "../support/wait/until.ts";
import {
  answerOf,
  patched,
  podOf,
  reviewOf,
  startTestInjector,
  type TestInjector,
} from "../support/webhooks/injector.ts";

const names = (containers: readonly { readonly name: string }[] = []) => containers.map(({ name }) => name);

async function inject(injector: TestInjector, pod = podOf(), path = "/inject?timeout=10s") {
  const answer = answerOf(await injector.post(path, reviewOf(pod)));
  return { answer, pod: patched(pod, answer) };
}

test.each(["v1", "v1beta1"] as const)(
  "a review of %s is answered in that version with a patch that adds the proxy",
  async (version) => {
    await using injector = await startTestInjector();
    const pod = podOf();
    const response = await injector.post("/inject", reviewOf(pod, { version }));
    expect(response.headers["content-type"]).toBe("application/json");
    const answer = answerOf(response);
    expect(answer).toMatchObject({
      apiVersion: `admission.k8s.io/${version}`,
      kind: "AdmissionReview",
      response: { uid: "705ab4f5-6393-11e8-b7cc-42010a800002", allowed: true, patchType: "JSONPatch" },
    });
    expect(names(patched(pod, answer).spec.containers)).toEqual(["app", "istio-proxy"]);
  },
);

test("dry runs, gzip, a charset and the API server's timeout make no difference to the patch", async () => {
  await using injector = await startTestInjector();
  const plain = answerOf(await injector.post("/inject", reviewOf(podOf())));
  const dry = reviewOf(podOf(), { request: { dryRun: true } });
  const type = { headers: { "content-type": "application/json; charset=utf-8" } };
  const zipped = { headers: { "content-encoding": "gzip" } };
  for (const response of await Promise.all([
    injector.post("/inject?timeout=10s", dry),
    injector.post("/inject", reviewOf(podOf()), type),
    injector.post("/inject", gzipSync(reviewOf(podOf())), zipped),
  ])) {
    expect(answerOf(response)).toEqual(plain);
  }
});

test("requests that are not reviews are refused as the reference refuses them, and the connection goes on", async () => {
  await using injector = await startTestInjector();
  const ask = async (body: string | Uint8Array, headers = {}, path = "/inject") => {
    const { status, body: text } = await injector.post(path, body, { headers });
    return { status, text: text.trim() };
  };
  expect(await ask("")).toEqual({ status: 400, text: "no body found" });
  const type = { status: 415, text: "invalid Content-Type, want `application/json`" };
  expect(await ask(reviewOf(podOf()), { "content-type": "application/yaml" })).toEqual(type);
  expect(await ask(Buffer.alloc(6 * 1024 * 1024 + 1, 32))).toEqual({
    status: 400,
    text: "Request entity too large: limit is 6291456",
  });
  // A bomb: a few kilobytes that become too much.
  expect(await ask(gzipSync(Buffer.alloc(64 * 1024 * 1024)), { "content-encoding": "gzip" })).toMatchObject({
    status: 400,
    text: "Request entity too large: limit is 6291456",
  });
  expect((await ask("not gzip", { "content-encoding": "gzip" })).status).toBe(400);
  expect((await ask("x", { "content-encoding": "br" })).status).toBe(415);
  expect((await ask(reviewOf(podOf()), {}, "/nothing")).status).toBe(404);
  expect((await ask("", {}, "/ready")).status).toBe(200);
  expect((await inject(injector)).answer.response.allowed).toBe(true);
});

test.each([
  { is: "random bytes", body: "\u0000\u0001{", says: "could not decode body" },
  { is: "another kind of object", body: JSON.stringify(podOf()), says: 'found "v1" "Pod"' },
  { is: "a list", body: "[]", says: "expected an AdmissionReview" },
  {
    is: "a review without a request",
    body: JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" }),
    says: "the review has no request",
  },
  { is: "a review without an object", body: reviewOf({}, { request: { object: null } }), says: "no pod with a spec" },
  {
    is: "a review of a kind that is not injected",
    body: reviewOf(podOf(), { request: { kind: { group: "apps", version: "v1", kind: "Deployment" } } }),
    says: "the review is about a Deployment, allowed is Pod",
  },
])("$is is answered with a refusal that says why", async ({ body, says }) => {
  await using injector = await startTestInjector();
  const response = await injector.post("/inject", body);
  expect(response.status).toBe(200);
  const { allowed, status } = answerOf(response).response;
  expect(allowed).toBe(false);
  expect(status?.message).toContain(says);
});

test("a pod of 3 MB is injected, and 200 pods at once are too", async () => {
  await using injector = await startTestInjector();
  const large = podOf({ annotations: { "example.com/blob": "x".repeat(3 * 1024 * 1024) } });
  expect(names((await inject(injector, large)).pod.spec.containers)).toContain("istio-proxy");
  const answers = await Promise.all(Array.from({ length: 200 }, () => inject(injector)));
  expect(answers.filter(({ pod }) => names(pod.spec.containers).includes("istio-proxy"))).toHaveLength(200);
  const text = await injector.metrics();
  expect(text).toContain("sidecar_injection_requests_total 201");
  expect(text).toContain("sidecar_injection_success_total 201");
  expect(text).toContain("sidecar_injection_time_seconds_count 201");
});

test("more reviews than are worked on at once wait, and those that waited as long as the API server does are refused", async () => {
  await using injector = await startTestInjector();
  // Bodies that do not come to their end hold all the room there is.
  const held = Array.from({ length: 64 }, () => {
    const open = httpsRequest({
      host: "127.0.0.1",
      port: injector.port,
      path: "/inject",
      method: "POST",
      rejectUnauthorized: false,
      agent: false,
      headers: { "content-type": "application/json", "content-length": "100" },
    });
    open.on("error", () => undefined);
    open.write("{");
    return open;
  });
  await until("there is no room", async () => {
    const { status, body } = await injector.post("/inject?timeout=20ms", reviewOf(podOf()));
    return status === 503 && body.includes("too many reviews are under way") ? true : `${status}`;
  });
  for (const open of held) open.destroy();
  await until("there is room again", async () => (await inject(injector)).answer.response.allowed);
});

test("variables of the path are set in the proxy", async () => {
  await using injector = await startTestInjector();
  const { pod } = await inject(injector, podOf(), "/inject/cluster/c%201/net/n--slash--1?timeout=10s");
  const proxy = pod.spec.containers.find(({ name }) => name === "istio-proxy");
  expect(proxy?.env).toContainEqual({ name: "ISTIO_META_CLUSTER_ID", value: "c 1" });
  expect(proxy?.env).toContainEqual({ name: "ISTIO_META_NETWORK", value: "n/1" });
});

test("a pod is native where the kubelets that it may meet allow it: of its node, of its cluster", async () => {
  const cluster = createScriptedCluster();
  for (const [name, kubeletVersion] of [
    ["old", "v1.28.0"],
    ["new", "v1.34.0"],
  ] as const)
    cluster.set("nodes", { metadata: { name }, status: { nodeInfo: { kubeletVersion } } });
  await using injector = await startTestInjector({ kubernetesSource: cluster });
  const initNames = async (spec: object, path?: string) =>
    names((await inject(injector, podOf({}, spec), path)).pod.spec.initContainers);
  expect(await initNames({})).not.toContain("istio-proxy");
  expect(await initNames({ nodeName: "new" })).toContain("istio-proxy");
  expect(await initNames({ nodeName: "old" })).not.toContain("istio-proxy");
  expect(await initNames({ nodeName: "new" }, "/inject/cluster/unknown")).not.toContain("istio-proxy");
});

test("a ProxyConfig object that selects a pod beats its annotation, and one of its namespace does not", async () => {
  const cluster = createScriptedCluster();
  for (const definition of ruleDefinitions()) cluster.set("customresourcedefinitions", definition);
  const rule = (name: string, spec: object) =>
    cluster.set("proxyconfigs", { metadata: { name, namespace: "apps" }, spec });
  await using injector = await startTestInjector({ kubernetesSource: cluster });
  const pod = podOf({ annotations: { "proxy.istio.io/config": "concurrency: 2" }, labels: { app: "web" } });
  rule("all", { concurrency: 1 });
  expect(JSON.stringify((await inject(injector, pod)).pod)).toContain('\\"concurrency\\":2');
  rule("web", { selector: { matchLabels: { app: "web" } }, concurrency: 3 });
  expect(JSON.stringify((await inject(injector, pod)).pod)).toContain('\\"concurrency\\":3');
});

test("why a pod is not injected is in the log and in the metric, and nothing is changed", async () => {
  await using injector = await startTestInjector();
  const { answer } = await inject(injector, podOf({ labels: { "sidecar.istio.io/inject": "false" } }));
  expect(answer.response).toEqual({ uid: expect.any(String), allowed: true });
  expect(await injector.metrics()).toContain('sidecar_injection_skip_total{reason="label"} 1');
  const [line] = injector.log.lines.filter(({ message }) => message === "pod is not injected");
  expect(line?.fields).toMatchObject({ pod: "apps/web-7d9f-***", reason: "label sidecar.istio.io/inject is false" });
});

test("a certificate that is replaced under load is served to new connections, and no request fails", async () => {
  await using injector = await startTestInjector();
  const body = reviewOf(podOf());
  const ask = (isAlone: boolean) => async () => `${(await injector.post("/inject", body, { isAlone })).status}`;
  const loads = [startLoad(ask(false), { lanes: 4 }), startLoad(ask(true), { lanes: 2 })];
  for (const name of ["second", "third"]) {
    await injector.rotate(name);
    const shown = async () => (await peerName(injector.port)) === name;
    await until(`${name} is served`, shown);
  }
  await Promise.all(loads.map((load) => load.stop()));
  expect(loads.flatMap(({ failures }) => failures)).toEqual([]);
  expect(loads.map(({ answers }) => [...answers.keys()])).toEqual([["200"], ["200"]]);
});

async function peerName(port: number): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false }, () => {
      const { CN } = socket.getPeerCertificate().subject;
      resolve(Array.isArray(CN) ? CN[0] : CN);
      socket.destroy();
    });
    socket.once("error", reject);
  });
}

test("a certificate that becomes unreadable leaves the last good one in force", async () => {
  await using injector = await startTestInjector();
  injector.folder.write("tls.crt", "-----BEGIN CERTIFICATE-----\nhalf");
  const { status } = await injector.post("/inject", reviewOf(podOf()), { isAlone: true });
  expect(status).toBe(200);
});

const TEMPLATE = `policy: enabled
templates:
  sidecar: |
    metadata:
      annotations:
        example.com/version: "1"
    spec:
      containers:
      - name: istio-proxy
        image: proxy
`;

test.each([
  { is: "a template with an error", config: TEMPLATE.replace('"1"', "{{ if }}"), says: /template: inject:3: / },
  {
    is: "a template that fails for every pod",
    config: TEMPLATE.replace('"1"', '{{ fail "never" }}'),
    says: /plain pod can no longer be injected.*never/,
  },
  { is: "half of a file", config: TEMPLATE.slice(0, 40).replace("sidecar", "'side"), says: /file .*config: / },
  {
    is: "a config of wrong types",
    config: "policy: [enabled]\ntemplates: {sidecar: 1}\n",
    says: /policy is \["enabled"\], allowed is text; templates is/,
  },
  { is: "text that is no map", config: "- 1\n", says: /allowed is a map/ },
])(
  "$is is refused with the reason, and the last good config stays until a good one comes",
  async ({ config, says }) => {
    await using injector = await startTestInjector({ config: TEMPLATE, values: "global: {hub: a}\n" });
    const version = async () => (await inject(injector)).pod.metadata.annotations?.["example.com/version"];
    expect(await version()).toBe("1");
    const problems = () => injector.log.lines.filter(({ message }) => message === "injection config cannot be used");
    injector.folder.write("config", config);
    await until("it is refused", () => problems().length > 0);
    expect(String(problems()[0]?.fields.error)).toMatch(says);
    expect(await version()).toBe("1");
    injector.folder.write("config", TEMPLATE.replace('"1"', '"2"'));
    await until("the new one counts", async () => (await version()) === "2");
  },
);

test("values of the wrong type are refused with their path, and values change without a restart", async () => {
  await using injector = await startTestInjector({ values: "global: {proxy: {image: one}}\n" });
  const image = async () => JSON.stringify((await inject(injector)).pod.spec.containers);
  expect(await image()).toContain("/one:");
  injector.folder.write("values", "global: {proxy: text}\n");
  const isRefused = () => injector.log.text().includes('global.proxy is \\"text\\", allowed is a map');
  await until("they are refused", isRefused);
  expect(await image()).toContain("/one:");
  injector.folder.write("values", "global: {proxy: {image: two}}\n");
  await until("they count", async () => (await image()).includes("/two:"));
});

test("where there was never a good config, pods are refused with what is wrong with it", async () => {
  await using injector = await startTestInjector({ config: "policy: [" });
  const { answer } = await inject(injector);
  expect(answer.response.allowed).toBe(false);
  expect(answer.response.status?.message).toMatch(/the injection config cannot be used: .*config/);
});

const gateway = (more: object) => ({
  apiVersion: "networking.istio.io/v1",
  kind: "Gateway",
  metadata: { name: "front", namespace: "apps" },
  spec: { servers: [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["*"] }] },
  ...more,
});
const ruleRequest = (more: object = {}) => ({
  kind: { group: "networking.istio.io", version: "v1", kind: "Gateway" },
  resource: { group: "networking.istio.io", version: "v1", resource: "gateways" },
  ...more,
});

test.each([
  { is: "a good rule", object: gateway({}), request: ruleRequest(), says: undefined },
  {
    is: "a rule without what it needs",
    object: gateway({ spec: {} }),
    request: ruleRequest(),
    says: "configuration is invalid: ",
  },
  {
    is: "an unknown member",
    object: gateway({ extra: 1 }),
    request: ruleRequest(),
    says: 'unknown field "extra" on Gateway resource apps/front',
  },
  {
    is: "an unknown kind",
    object: { ...gateway({}), kind: "Gate" },
    request: ruleRequest(),
    says: "unrecognized type",
  },
  { is: "no object", object: gateway({}), request: ruleRequest({ object: null }), says: "the review has no object" },
  { is: "a deletion", object: gateway({ spec: {} }), request: ruleRequest({ operation: "DELETE" }), says: undefined },
])("a validation of $is says $says", async ({ object, request, says }) => {
  await using injector = await startTestInjector();
  const { response } = answerOf(await injector.post("/validate?timeout=10s", reviewOf(object, { request })));
  expect(response.allowed).toBe(says === undefined);
  if (says !== undefined) expect(response.status?.message).toContain(says);
});

test("a taken port fails the start and leaves nothing open, and a double stop is one", async () => {
  const listen = [{ host: "127.0.0.1", port: 0 }];
  await using squatter = await startHttpServer({ listen, handler: () => undefined, log: silentLogger });
  const ports = { https: { host: "127.0.0.1", port: squatter.port } };
  await expect(startTestInjector({ ports })).rejects.toMatchObject({ code: "address-in-use" });
  const injector = await startTestInjector();
  await Promise.all([injector.stop(), injector.stop()]);
  await injector[Symbol.asyncDispose]();
});
