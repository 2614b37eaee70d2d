import { createSign, generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runWords } from "../../../test/support/cli/run-words.ts";
import { parseYaml } from "../../files/yaml/parse-yaml.ts";
import { COMMANDS } from "./list.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "pilot-agent-simulate-"));
  write(
    "mesh.yaml",
    ...workload("web"),
    ...workload("api"),
    rules(),
    policy(),
    tokens(),
    gateway(),
    gatewayRoute(),
    ...ingress(),
  );
});
afterAll(() => rmSync(folder, { recursive: true }));

function write(name: string, ...objects: readonly object[]): string {
  const path = join(folder, name);
  writeFileSync(path, objects.map((object) => JSON.stringify(object)).join("\n---\n"));
  return path;
}

const metadata = (name: string) => ({ name, namespace: "prod" });
function workload(name: string): readonly object[] {
  const labels = { app: name };
  return [
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: metadata(name),
      spec: {
        clusterIP: `10.1.0.${name === "web" ? 1 : 2}`,
        selector: labels,
        ports: [
          { name: "http", port: 80, targetPort: "main" },
          { name: "tcp-db", port: 5432 },
        ],
      },
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: metadata(name),
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            serviceAccountName: name,
            containers: [{ name: "app", ports: [{ name: "main", containerPort: 8080 }] }],
          },
        },
      },
    },
  ];
}

const istio = (kind: string, name: string, spec: object, group = "networking") => ({
  apiVersion: `${group}.istio.io/v1`,
  kind,
  metadata: metadata(name),
  spec,
});
const to = (host: string, weight?: number) => ({ destination: { host }, ...(weight !== undefined && { weight }) });
const rules = () =>
  istio("VirtualService", "api", {
    hosts: ["api"],
    http: [
      { match: [{ uri: { prefix: "/tea" } }], directResponse: { status: 418 } },
      { match: [{ uri: { prefix: "/split" } }], route: [to("api", 75), to("nobody.example", 25)] },
      { route: [to("api")] },
    ],
  });
const policy = () =>
  istio(
    "AuthorizationPolicy",
    "callers",
    {
      selector: { matchLabels: { app: "api" } },
      action: "DENY",
      rules: [
        { to: [{ operation: { paths: ["/admin*"] } }] },
        { from: [{ source: { notRequestPrincipals: ["*"] } }], to: [{ operation: { paths: ["/me"] } }] },
      ],
    },
    "security",
  );
const tokens = () =>
  istio(
    "RequestAuthentication",
    "tokens",
    { jwtRules: [{ issuer: "login", jwksUri: "https://login.example/keys" }] },
    "security",
  );
const gateway = () =>
  istio("Gateway", "front", {
    selector: { app: "ingress" },
    servers: [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["shop.example"] }],
  });
const gatewayRoute = () =>
  istio("VirtualService", "shop", { hosts: ["shop.example"], gateways: ["front"], http: [{ route: [to("api")] }] });
function ingress(): readonly object[] {
  const [, deployment] = workload("ingress") as readonly [
    object,
    { readonly spec: { readonly template: { readonly metadata: object } } },
  ];
  const { template } = deployment.spec;
  const annotations = { "inject.istio.io/templates": "gateway" };
  return [
    {
      ...deployment,
      spec: { ...deployment.spec, template: { ...template, metadata: { ...template.metadata, annotations } } },
    },
  ];
}

const run = (...words: readonly string[]) =>
  runWords({
    words: ["simulate", "request", "--config", join(folder, "mesh.yaml"), ...words],
    commands: COMMANDS,
    env: {},
  });
const call = (url: string, ...words: readonly string[]) => run("--from", "prod/web", "--to", url, ...words);
interface Way {
  readonly share: number;
  readonly answer: {
    readonly kind: string;
    readonly status?: number;
    readonly flags: readonly string[];
    readonly endpoints: readonly string[];
  };
  readonly decisions: readonly {
    readonly step: string;
    readonly origins: readonly { readonly kind: string; readonly file: string; readonly line: number }[];
  }[];
}
const ways = async (url: string, ...words: readonly string[]) =>
  (JSON.parse((await call(url, "-o", "json", ...words)).stdout) as { readonly ways: readonly Way[] }).ways;

test("a request of files arrives at the planned pod, at the named port of its container", async () => {
  const { code, stdout } = await call("http://api/users");
  expect(code).toBe(0);
  expect(stdout).toMatch(/Answer: arrives at 240\.0\.0\.\d:8080 of prod\/api-planned\n$/);
  expect(stdout).toContain("mutual TLS, the client is spiffe://cluster.local/ns/prod/sa/web");
  expect(stdout).toMatch(/route +route 2: prefix \/\n +from VirtualService prod\/api \(.*mesh\.yaml:\d+\)/);
});

test("an endpoint comes from what is written: planned slices are their Service, planned pods their Deployment", async () => {
  const { stdout } = await call("http://api/users");
  expect(stdout).toMatch(
    /endpoint +240\.0\.0\.\d:8080, with mutual TLS.*\n +from Service prod\/api \(.*mesh\.yaml:\d+\)\n +from Deployment prod\/api \(.*mesh\.yaml:\d+\)\n/,
  );
});

test("a denied request names the policy and exits with 3", async () => {
  const { code, stdout } = await call("http://api/admin/x");
  expect(code).toBe(3);
  expect(stdout).toMatch(
    /authorization +denied: policy prod\/callers, rule 0\n +from AuthorizationPolicy prod\/callers \(.*mesh\.yaml:\d+\)/,
  );
  expect(stdout).toContain("Answer: 403 denied by prod/api-planned");
});

test("weights make ways with shares, in JSON and YAML", async () => {
  const [first, second] = await ways("http://api/split");
  expect(first).toMatchObject({ share: 0.75, answer: { kind: "endpoint" } });
  expect(second).toMatchObject({ share: 0.25, answer: { kind: "no-cluster", status: 503, flags: ["NC"] } });
  const { stdout } = await call("http://api/split", "-o", "yaml");
  expect(await parseYaml(stdout)).toMatchObject({ from: "prod/web-planned", ways: [{ share: 0.75 }, { share: 0.25 }] });
});

test("method, headers, host and protocol of the request are those of the flags", async () => {
  const match = (uri: string, more: object) => ({ match: [{ uri: { prefix: uri }, ...more }] });
  const answers = (status: number) => ({ directResponse: { status } });
  const flags = write(
    "flags.yaml",
    istio("VirtualService", "flags", {
      hosts: ["web"],
      http: [
        { ...match("/", { method: { exact: "DELETE" }, headers: { "x-user": { exact: "alice" } } }), ...answers(201) },
        { ...match("/", { method: { exact: "DELETE" } }), ...answers(202) },
        { ...match("/", { headers: { "x-user": { exact: "alice,bob" } } }), ...answers(203) },
        answers(204),
      ],
    }),
  );
  const statusOf = async (...words: readonly string[]) => {
    const given = ["--from", "prod/web", "--to", "http://web/x", "--config", flags, "-o", "json", ...words];
    const { ways: found } = JSON.parse((await run(...given)).stdout) as {
      readonly ways: readonly { readonly answer: { readonly status: number } }[];
    };
    return found.map(({ answer }) => answer.status);
  };
  expect(await statusOf("--method", "delete", "-H", "X-User: alice")).toEqual([201]);
  expect(await statusOf("-X", "DELETE")).toEqual([202]);
  expect(await statusOf("-H", "x-user:alice", "-H", "x-user: bob")).toEqual([203]);
  expect(await statusOf("-H", "x-user:alice")).toEqual([204]);
  const [other] = await ways("http://192.0.2.9/tea", "-H", "host:api");
  expect(other).toMatchObject({ answer: { kind: "direct-response", status: 418 } });
  expect((await call("http://api/users", "--http2")).stdout).toContain("for plaintext (HTTP/2)");
  expect((await call("http://api/users")).stdout).not.toContain("HTTP/2");
});

test("a rule's own answer, a connection and an address outside are told apart", async () => {
  expect(await ways("http://api/tea")).toMatchObject([{ answer: { kind: "direct-response", status: 418 } }]);
  expect(await ways("tcp://api:5432")).toMatchObject([{ answer: { kind: "denied", endpoints: [] } }]);
  expect(await ways("tcp://db.example:1", "--address", "192.0.2.1")).toMatchObject([
    { answer: { kind: "passthrough", endpoints: ["192.0.2.1:1"] } },
  ]);
});

describe("a token", () => {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const text = `${part({ alg: "RS256", kid: "k" })}.${part({ iss: "login", sub: "alice" })}`;
  const token = `${text}.${createSign("RSA-SHA256").update(text).sign(privateKey, "base64url")}`;
  const keys = { keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k", alg: "RS256" }] };
  const file = (name: string, content: string) => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };

  test("is checked with keys of a file, and refused without keys", async () => {
    const given = ["--jwt", file("token", `${token}\n`), "--jwks", file("keys.json", JSON.stringify(keys))];
    expect(await ways("http://api/me", ...given)).toMatchObject([{ answer: { kind: "endpoint" } }]);
    expect(await ways("http://api/me", ...given.slice(0, 2))).toMatchObject([
      { answer: { kind: "unauthenticated", status: 401 } },
    ]);
    expect(await ways("http://api/me")).toMatchObject([{ answer: { kind: "denied", status: 403 } }]);
  });
});

test("a gateway takes requests from outside and leads them to the mesh", async () => {
  const { stdout } = await run("--from", "prod/ingress", "--to", "http://shop.example/users");
  expect(stdout).toMatch(/listener +0\.0\.0\.0_80 takes/);
  expect(stdout).toContain("of prod/api-planned");
  const unknown = await run("--from", "prod/ingress", "--to", "http://other.example/");
  expect(unknown).toMatchObject({ code: 3, stdout: expect.stringContaining("404 NR") });
});

test("objects that a control plane refuses are named and left out", async () => {
  const bad = write("bad.yaml", istio("VirtualService", "bad", { hosts: [] }));
  const { stderr } = await call("http://api/users", "--config", bad);
  expect(stderr).toMatch(/Warning: VirtualService prod\/bad \(.*bad\.yaml:\d+\) is refused and left out/);
});

test.each([
  { words: ["--to", "http://api"], says: "who calls?" },
  { words: ["--from", "prod/web"], says: "what is called?" },
  { words: ["--from", "prod/web", "--to", "ftp://api"], says: '--to is "ftp://api", expected http://' },
  { words: ["--from", "prod/web", "--to", "tcp://api"], says: "it needs a port" },
  {
    words: ["--from", "prod/web", "--to", "http://api", "-H", "no header"],
    says: '--header is "no header", expected NAME:VALUE',
  },
  {
    words: ["--from", "prod/web", "--to", "http://api", "-o", "xml"],
    says: '--output is "xml", allowed: text, json, yaml',
  },
])("$words is wrong use: $says", async ({ words, says }) => {
  const { code, stderr } = await run(...words);
  expect(code).toBe(2);
  expect(stderr).toContain(says);
});

test("a workload that nobody knows is answered with those that are known", async () => {
  const { code, stderr } = await run("--from", "prod/nobody", "--to", "http://api");
  expect(code).toBe(1);
  expect(stderr).toContain("no workload prod/nobody among the objects; there are prod/web-planned");
});

test.each([
  ["simulate", "request"],
  ["discovery", "explain"],
  ["discovery", "request"],
])("the help of %s %s names the command once, with examples", async (...words) => {
  const { stdout } = await runWords({ words: [...words, "--help"], commands: COMMANDS, env: {} });
  expect(stdout).toContain(`Usage:\n  pilot-agent ${words.join(" ")} `);
  expect(stdout).toContain(`Examples:\n`);
});
