import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { runWords } from "../../../test/support/cli/run-words.ts";
import { parseYaml } from "../../files/yaml/parse-yaml.ts";
import { listText, whyText } from "./explain-text.ts";
import { COMMANDS } from "./list.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pilot-agent-explain-"));
  put("now/mesh.yaml", service("web"), pod("web", "10.0.0.1"), service("api"), pod("api", "10.0.0.2"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function put(name: string, ...objects: readonly object[]): string {
  const path = join(folder, name);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, objects.map((object) => JSON.stringify(object)).join("\n---\n"));
  return path;
}

const metadata = (name: string, labels = {}) => ({ name, namespace: "prod", labels });
const service = (name: string) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: metadata(name),
  spec: { clusterIP: `10.1.0.${name.length}`, selector: { app: name }, ports: [{ name: "http", port: 80 }] },
});
const pod = (name: string, podIP: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: metadata(name, { app: name }),
  spec: { containers: [{ name: "app" }] },
  status: { podIP, phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
});
const route = (timeout: string) => ({
  apiVersion: "networking.istio.io/v1",
  kind: "VirtualService",
  metadata: metadata("api"),
  spec: { hosts: ["api"], http: [{ timeout, route: [{ destination: { host: "api" } }] }] },
});
const API = "outbound|80||api.prod.svc.cluster.local";
const run = (...words: readonly string[]) =>
  runWords({ words: ["discovery", "explain", ...words], commands: COMMANDS, env: {} });

test("the resources of a pod are listed by type and name", async () => {
  const { code, stdout } = await run("--config", join(folder, "now"), "--workload", "prod/web");
  expect(code).toBe(0);
  for (const line of [`CDS  ${API}`, `EDS  ${API}`, "LDS  virtualInbound", "RDS  80", "NDS  (the table)"]) {
    expect(stdout.split("\n")).toContain(line);
  }
});

test("one resource is printed whole, as JSON or YAML", async () => {
  const words = ["--config", join(folder, "now"), "--workload", "prod/web", "--type", "cds", "--name", API];
  expect(JSON.parse((await run(...words)).stdout)).toMatchObject({ name: API, type: "EDS" });
  expect(await parseYaml((await run(...words, "-o", "yaml")).stdout)).toMatchObject({ name: API, type: "EDS" });
});

test("a node of a file is explained as well", async () => {
  const node = put("node.json", {
    id: "router~10.0.0.9~edge.prod~prod.svc.cluster.local",
    metadata: { NAMESPACE: "prod" },
  });
  const { code, stdout } = await run("--config", join(folder, "now"), "--node", node, "--type", "cds", "-o", "json");
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    resources: expect.arrayContaining([expect.objectContaining({ name: API })]),
  });
});

describe("why", () => {
  const why = async (name: string, ...words: readonly string[]) => {
    put("now/rules.yaml", route("2s"), newer(), peers());
    return run("--config", join(folder, "now"), "--workload", "prod/web", "--why", name, ...words);
  };
  /** Loses to the one of the same host. */
  const newer = () => {
    const { metadata: own, ...rest } = route("3s");
    return { ...rest, metadata: { ...own, name: "newer", creationTimestamp: "2020-01-01T00:00:00Z" } };
  };
  const peers = () => ({
    apiVersion: "security.istio.io/v1",
    kind: "PeerAuthentication",
    metadata: metadata("peers"),
    spec: { mtls: { mode: "STRICT" } },
  });

  test("a cluster comes from its service, with file and line", async () => {
    const { stdout } = await why(API, "--type", "cds");
    expect(stdout).toMatch(/^CDS {2}outbound\S+\n {5}from Service prod\/api \(\S+now\/mesh\.yaml:\d+\)\n$/);
  });

  test("a virtual host and its routes come from the oldest rule, which overrules the others", async () => {
    const { stdout } = await why("api.prod.svc.cluster.local", "--type", "rds", "-o", "json");
    const [{ parts }] = JSON.parse(stdout) as [
      { readonly parts: readonly { readonly kind: string; readonly origins: readonly object[] }[] },
    ];
    expect(parts.map(({ kind }) => kind)).toEqual(["virtual host", "route"]);
    expect(parts[1]?.origins).toMatchObject([
      { kind: "VirtualService", name: "api" },
      { kind: "VirtualService", name: "newer", overruledBy: "VirtualService prod/api" },
    ]);
  });

  test("the inbound listener names who asks for mutual TLS", async () => {
    const { stdout } = await why("virtualInbound");
    expect(stdout).toMatch(/mutual TLS port 80\n {5}from PeerAuthentication prod\/peers/);
  });

  test("endpoints come from slices, pods and parts of ServiceEntries, with the line of each", async () => {
    const own = {
      apiVersion: "networking.istio.io/v1",
      kind: "ServiceEntry",
      metadata: metadata("outside"),
      spec: {
        hosts: ["out.example"],
        ports: [{ number: 80, name: "http", protocol: "HTTP" }],
        resolution: "STATIC",
        endpoints: [{ address: "192.0.2.1" }, { address: "192.0.2.2" }],
      },
    };
    const slice = {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: metadata("api-x", { "kubernetes.io/service-name": "api" }),
      addressType: "IPv4",
      ports: [{ name: "http", port: 80 }],
      endpoints: [{ addresses: ["10.0.0.2"], targetRef: { kind: "Pod", name: "api", namespace: "prod" } }],
    };
    const file = put("now/more.yaml", slice);
    writeFileSync(file, `${readFileSync(file, "utf8")}\n---\n${JSON.stringify(own, undefined, 2)}\n`);
    const { stdout } = await why(API, "--type", "eds");
    const mesh = join(folder, "now/mesh.yaml");
    expect(stdout).toBe(`EDS  ${API}
     from Service prod/api (${mesh}:5)
  endpoint 10.0.0.2:80
     from EndpointSlice prod/api-x (${file}:1)
     from Pod prod/api (${mesh}:7)
`);
    const { stdout: json } = await why("outbound|80||out.example", "--type", "eds", "-o", "json");
    const [{ parts }] = JSON.parse(json) as [{ readonly parts: readonly object[] }];
    const line = readFileSync(file, "utf8")
      .split("\n")
      .findIndex((text) => text.includes("192.0.2.2"));
    expect(parts[1]).toEqual({
      kind: "endpoint",
      name: "192.0.2.2:80",
      // The brace of the entry is above its address.
      origins: [
        { kind: "ServiceEntry", namespace: "prod", name: "outside", path: ["spec", "endpoints", 1], file, line },
      ],
    });
  });

  test("a name that nothing has is an error", async () => {
    expect(await why("nothing")).toMatchObject({ code: 1, stderr: expect.stringContaining('has the name "nothing"') });
  });
});

test("a node that nobody knows is sent what any workload would be, and what is no node is refused", async () => {
  const unknown = put("node.json", { id: "sidecar~192.0.2.1~nobody.nowhere~nowhere.svc.cluster.local", metadata: {} });
  const { code, stdout } = await run("--config", join(folder, "now"), "--node", unknown);
  expect(code).toBe(0);
  expect(stdout).toContain(`CDS  ${API}\n`);
  const bad = put("bad.json", { id: "sidecar~nobody" });
  expect(await run("--config", join(folder, "now"), "--node", bad)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^Error: \S+bad\.json is no node of a discovery request: .+\n$/),
  });
});

test("a pod of an application with the argument router is no gateway, one with the gateway's template is", async () => {
  const app = { ...pod("app", "10.0.0.3"), spec: { containers: [{ name: "app", args: ["router"] }] } };
  const { metadata: own, ...edge } = pod("edge", "10.0.0.4");
  const annotations = { "inject.istio.io/templates": "gateway" };
  const file = put("now/more.yaml", app, { ...edge, metadata: { ...own, annotations } });
  const listeners = async (name: string) =>
    (await run("--config", join(folder, "now"), "--config", file, "--workload", `prod/${name}`, "--type", "lds"))
      .stdout;
  expect(await listeners("app")).toContain("LDS  virtualInbound");
  expect(await run("--config", join(folder, "now"), "--workload", "prod/edge", "--type", "lds")).toMatchObject({
    code: 1,
  });
});

test("a difference names the proxies and the members that change, nothing else", async () => {
  const next = put(
    "next/mesh.yaml",
    service("web"),
    pod("web", "10.0.0.1"),
    service("api"),
    pod("api", "10.0.0.2"),
    route("2s"),
  );
  const { stdout } = await run("--config", join(folder, "now"), "--diff", next);
  expect(stdout).toContain("web.prod\n  ~ RDS 80\n");
  expect(stdout).toContain('.route.timeout: "0s" -> "2s"\n');
  expect(stdout).toContain("2 of 2 proxies would be sent something.\n");
  expect(stdout).not.toContain("CDS");
});

test("a change that reaches no proxy is reported as such", async () => {
  const same = put("next/mesh.yaml", service("web"), pod("web", "10.0.0.1"), service("api"), pod("api", "10.0.0.2"));
  expect((await run("--config", join(folder, "now"), "--diff", same)).stdout).toBe(
    "0 of 2 proxies would be sent something.\n",
  );
});

test("services that come and go are added and removed resources", async () => {
  const next = put("next/mesh.yaml", service("web"), pod("web", "10.0.0.1"), service("new"));
  const { stdout } = await run(
    "--config",
    join(folder, "now"),
    "--diff",
    next,
    "--workload",
    "prod/web",
    "--type",
    "cds",
  );
  expect(stdout).toBe(
    `web.prod\n  + CDS outbound|80||new.prod.svc.cluster.local\n  - CDS ${API}\n1 of 1 proxy would be sent something.\n`,
  );
});

test.each([
  { words: [], says: "nothing to explain" },
  { words: ["--config", "x"], says: "whose configuration? give --workload NAMESPACE/POD or --node FILE" },
  {
    words: ["--config", "x", "--workload", "a/b", "--type", "sds"],
    says: '--type is "sds", allowed: cds, eds, lds, rds, ecds, nds',
  },
])("wrong use is refused with what is allowed: $words", async ({ words, says }) => {
  const { code, stderr } = await run(...words);
  expect(code).toBe(2);
  expect(stderr).toContain(says);
});

test("a pod that is not there is named with those that are", async () => {
  const { code, stderr } = await run("--config", join(folder, "now"), "--workload", "prod/none");
  expect(code).toBe(1);
  expect(stderr).toBe("Error: no pod prod/none among the objects; there are prod/web, prod/api\n");
});

const telemetry = (name: string, namespace: string, spec: object) => ({
  apiVersion: "telemetry.istio.io/v1",
  kind: "Telemetry",
  metadata: { name, namespace },
  spec,
});

test("why there are no spans: each of the reasons, with the object that decided and its line", async () => {
  const mesh = put("mesh-config.yaml", {
    defaultProviders: { metrics: ["prometheus"], tracing: ["jaeger"] },
    extensionProviders: [
      { name: "prometheus", prometheus: {} },
      { name: "jaeger", opentelemetry: { service: "jaeger.obs.svc.cluster.local", port: 4317 } },
    ],
  });
  put(
    "now/telemetry.yaml",
    telemetry("all", "istio-system", { tracing: [{ randomSamplingPercentage: 5 }] }),
    telemetry("own", "prod", {
      tracing: [{ randomSamplingPercentage: 0 }],
      metrics: [{ overrides: [{ match: { metric: "REQUEST_COUNT" }, disabled: true }] }],
    }),
  );
  const words = ["telemetry", "--config", join(folder, "now"), "--meshConfigFile", mesh, "--workload", "prod/web"];
  const { code, stdout } = await run(...words);
  expect(code).toBe(0);
  const file = join(folder, "now/telemetry.yaml");
  expect(stdout).toContain(`spans of calls that it makes: off
  ! random sampling is 0 %: only requests whose caller has decided for a trace are reported
  ! provider "jaeger": there is no service jaeger.obs.svc.cluster.local, or the workload does not see it
  - random sampling: 1 %  (built-in, overruled)
    provider: jaeger  (mesh settings, defaultProviders.tracing)
  - random sampling: 5 %  (Telemetry istio-system/all, mesh, tracing[0].randomSamplingPercentage, ${file}:1, overruled)
    random sampling: 0 %  (Telemetry prod/own, namespace, tracing[0].randomSamplingPercentage, ${file}:3)
`);
  expect(stdout).toContain(`metrics of calls to it: on
  ! disabled: istio_requests_total
    provider: prometheus  (mesh settings, defaultProviders.metrics)
    istio_requests_total: off  (Telemetry prod/own, namespace, metrics[0].overrides[0].disabled, ${file}:3)
`);
  const json = JSON.parse((await run(...words, "-o", "json")).stdout) as readonly { isOn: boolean; what: string }[];
  expect(json.map(({ what, isOn }) => [what, isOn])).toEqual([
    ["spans", false],
    ["spans", false],
    ["metrics", true],
    ["metrics", true],
  ]);
});

test("an explanation that was not tried out to the end says of which kinds", () => {
  const origins = [{ kind: "VirtualService", namespace: "prod", name: "web" }];
  const explanation = { type: "cds", name: API, origins, parts: [], notTried: ["EnvoyFilter", "Telemetry"] } as const;
  expect(whyText([explanation], "text")).toBe(
    `CDS  ${API}\n     from VirtualService prod/web\n` +
      "  ! not all were tried out of EnvoyFilter, Telemetry: those are named that apply by hosts and selectors\n",
  );
  expect(JSON.parse(whyText([explanation], "json"))).toMatchObject([{ notTried: ["EnvoyFilter", "Telemetry"] }]);
});

test("a problem is listed with the object that it comes from and where that stands", () => {
  const origin = { kind: "Gateway", namespace: "prod", name: "edge", file: "mesh.yaml", line: 12 };
  const problem = { text: "0.0.0.0_443: no such file (left out)", origin };
  const line = "0.0.0.0_443: no such file (left out), of Gateway prod/edge (mesh.yaml:12)";
  expect(listText([], [problem], "text")).toBe(`!    ${line}\n`);
  expect(JSON.parse(listText([], [problem], "json"))).toEqual({ resources: [], problems: [line] });
});
