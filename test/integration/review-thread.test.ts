import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createScriptedCluster } from "../support/discovery/scripted-cluster.ts";
import { ruleDefinitions } from "../support/kubernetes/rule-definitions.ts";
import { bundleProgram } from "../support/process/bundle-program.ts";
import { longestTurnDuring } from "../support/process/longest-turn.ts";
import { until } from "../support/wait/until.ts";
import { answerOf, patched, podOf, reviewOf, startTestInjector } from "../support/webhooks/injector.ts";

let folder = "";
let reviewThread: URL;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "review-thread-"));
  const outfile = join(folder, "entry.mjs");
  const banner = { js: 'import{createRequire as __r}from"node:module";const require=__r(import.meta.url);' };
  await bundleProgram("src/discovery/webhooks/review-thread-entry.ts", { outfile, banner });
  reviewThread = pathToFileURL(outfile);
});
afterAll(() => rm(folder, { recursive: true }));

const TURN_MS = 100;
const KIB = 1024;

const volumes = (count: number) => Array.from({ length: count }, (_, at) => ({ name: `v${at}`, emptyDir: {} }));
const containers = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    name: `c${at}`,
    image: `image:${at}`,
    env: [{ name: "A", value: "b" }],
  }));
const texts = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}.example/a`, "b"]));
const gateway = (hosts: number) => ({
  apiVersion: "networking.istio.io/v1",
  kind: "Gateway",
  metadata: { name: "front", namespace: "apps" },
  spec: {
    servers: [
      {
        port: { number: 80, name: "http", protocol: "HTTP" },
        hosts: Array.from({ length: hosts }, (_, at) => `h${at}.example`),
      },
    ],
  },
});
const rule = (object: object, kind: string) =>
  reviewOf(object, {
    request: {
      kind: { group: "networking.istio.io", version: "v1", kind },
      resource: { group: "networking.istio.io", version: "v1", resource: `${kind.toLowerCase()}s` },
    },
  });

/** Each takes the serving thread at least twice as long as a turn may be, where it is reviewed there. */
const HOSTILE = [
  { name: "a pod of 40,000 volumes", path: "/inject", body: reviewOf(podOf({}, { volumes: volumes(40_000) })) },
  {
    name: "a pod of 20,000 containers",
    path: "/inject",
    body: reviewOf(podOf({}, { containers: containers(20_000) })),
  },
  { name: "a pod of 100,000 annotations", path: "/inject", body: reviewOf(podOf({ annotations: texts(100_000) })) },
  { name: "a gateway of 300,000 hosts", path: "/validate", body: rule(gateway(300_000), "Gateway") },
  {
    name: "five megabytes of brackets",
    path: "/inject",
    body: `{"a":${"[".repeat(2_500_000)}${"]".repeat(2_500_000)}}`,
  },
];

describe("a large object does not hold up the serving thread", () => {
  test.each(HOSTILE)("$name", async ({ path, body }) => {
    await using injector = await startTestInjector({ reviewThread });
    const posted = injector.post(path, body);
    let small = 0;
    let isDone = false;
    const others = (async () => {
      while (!isDone) {
        expect(answerOf(await injector.post("/inject", reviewOf(podOf()))).response.patch).toBeDefined();
        small += 1;
      }
    })();
    const done = posted.finally(() => {
      isDone = true;
    });
    expect(await longestTurnDuring(done)).toBeLessThan(TURN_MS);
    await others;
    expect((await posted).status).toBe(200);
    expect(small).toBeGreaterThan(2);
  });
});

/** More than is reviewed in the serving thread. */
const note = "x".repeat(100 * KIB);

describe("the thread's answers are those of the serving thread", () => {
  const bodies = [
    ["/inject", reviewOf(podOf({ annotations: { note } }))],
    ["/inject/cluster/east/net/n1/odd", reviewOf(podOf({ annotations: { note } }), { version: "v1beta1" })],
    ["/inject", reviewOf(podOf({ annotations: { note, "sidecar.istio.io/inject": "false" } }))],
    ["/inject", reviewOf(podOf({ annotations: { note, "proxy.istio.io/config": "concurrency: 3" } }))],
    ["/inject", reviewOf(podOf({ annotations: { note, "sidecar.istio.io/proxyCPU": "much" } }))],
    ["/inject", reviewOf({ metadata: { annotations: { note } } })],
    ["/inject", `${reviewOf(podOf({ annotations: { note } }))}}`],
    ["/inject", JSON.stringify({ kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1", note })],
    ["/validate", rule({ ...gateway(10_000) }, "Gateway")],
    ["/validate", rule({ ...gateway(10_000), extra: 1 }, "Gateway")],
    ["/validate", rule({ ...gateway(10_000), spec: { servers: [{ hosts: [note] }] } }, "Gateway")],
    ["/validate", rule({ ...gateway(10_000), kind: "Nothing" }, "Nothing")],
  ] as const;

  test("bodies, metrics and log lines are equal", async () => {
    const answersOf = async (given: URL | "none") => {
      await using injector = await startTestInjector({ reviewThread: given, config: "policy: enabled" });
      const answers: string[] = [];
      for (const [path, body] of bodies) answers.push((await injector.post(path, body)).body);
      const metrics = (await injector.metrics()).split("\n");
      const counted = metrics.filter(
        (line) => /^(sidecar_injection|galley)_/.test(line) && !/seconds_(sum|bucket)/.test(line),
      );
      const lines = injector.log.printed.filter((line) => /pod is not|pod cannot|rule object|no value/.test(line));
      return { answers, counted, lines };
    };
    const inThread = await answersOf(reviewThread);
    expect(inThread).toEqual(await answersOf("none"));
    expect(inThread.counted).toContain("sidecar_injection_success_total 3");
    expect(inThread.lines.length).toBeGreaterThan(5);
  });

  test("settings that change count for the next large pod", async () => {
    const template = (version: number) =>
      `policy: enabled\ntemplates:\n  sidecar: |\n    metadata: {annotations: {version: "${version}"}}\n`;
    await using injector = await startTestInjector({ reviewThread, config: template(1) });
    const pod = podOf({ annotations: { note } });
    const version = async () =>
      patched(pod, answerOf(await injector.post("/inject", reviewOf(pod)))).metadata.annotations?.version;
    expect([await version(), await version()]).toEqual(["1", "1"]);
    injector.folder.write("config", template(2));
    await until("the new template counts", async () => (await version()) === "2");
    injector.folder.write("config", "policy: [");
    await until("the bad one is refused", () => injector.log.printed.some((line) => line.includes("cannot be used")));
    expect(await version()).toBe("2");
  });

  test("what the cluster says of a pod counts: ProxyConfig objects, its node, its namespace", async () => {
    const cluster = createScriptedCluster();
    for (const definition of ruleDefinitions()) cluster.set("customresourcedefinitions", definition);
    const specs: readonly [string, object][] = [
      ["all", { concurrency: 1 }],
      ["web", { selector: { matchLabels: { app: "web" } }, concurrency: 3 }],
    ];
    for (const [name, spec] of specs) cluster.set("proxyconfigs", { metadata: { name, namespace: "apps" }, spec });
    for (const [name, kubeletVersion] of [
      ["old", "v1.28.0"],
      ["new", "v1.34.0"],
    ] as const)
      cluster.set("nodes", { metadata: { name }, status: { nodeInfo: { kubeletVersion } } });
    const annotations = { "openshift.io/sa.scc.uid-range": "1000810000/10000" };
    cluster.set("namespaces", { metadata: { name: "apps", annotations } });
    const environment = { PLATFORM: "openshift" };
    await using injector = await startTestInjector({ reviewThread, kubernetesSource: cluster, environment });
    const injected = async (spec: object) => {
      const pod = podOf({ annotations: { note } }, spec);
      return patched(pod, answerOf(await injector.post("/inject", reviewOf(pod)))).spec;
    };
    const onNew = await injected({ nodeName: "new" });
    expect(onNew.initContainers.map(({ name }) => name)).toContain("istio-proxy");
    const onOld = await injected({ nodeName: "old" });
    const proxy = onOld.containers.find(({ name }) => name === "istio-proxy");
    expect(JSON.stringify(proxy)).toContain('\\"concurrency\\":3');
    expect(proxy).toMatchObject({ securityContext: { runAsUser: 1000819999 } });
  });

  test("a pod that comes while there are no settings is refused with the reason", async () => {
    const refusals = await Promise.all(
      ([reviewThread, "none"] as const).map(async (given) => {
        await using injector = await startTestInjector({ reviewThread: given, config: "policy: [" });
        const { response } = answerOf(await injector.post("/inject", reviewOf(podOf({ annotations: { note } }))));
        return response.status?.message.replace(/file \S+/, "file");
      }),
    );
    expect(refusals[0]).toContain("the injection config cannot be used");
    expect(refusals[0]).toBe(refusals[1]);
  });
});

test("a thread that cannot run fails the large review with 500 and a log line, and no other", async () => {
  await using injector = await startTestInjector({ reviewThread: new URL("file:///nowhere/entry.mjs") });
  const large = await injector.post("/inject", reviewOf(podOf({ annotations: { note } })));
  expect(large.status).toBe(500);
  expect(large.body).toMatch(/internal error: a review of \d+ bytes failed: .*nowhere/s);
  expect(injector.log.text()).toContain("review of a large object failed");
  expect(answerOf(await injector.post("/inject", reviewOf(podOf()))).response.allowed).toBe(true);
});
