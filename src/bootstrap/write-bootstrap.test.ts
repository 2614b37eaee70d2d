import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { InputOverrides } from "../../test/support/bootstrap/bootstrap-inputs.ts";
import { sidecarInputs } from "../../test/support/bootstrap/bootstrap-inputs.ts";
import { needs } from "../../test/support/needs.ts";
import type { Logger } from "../base/logger.ts";
import { silentLogger } from "../base/logger.ts";
import { BOOTSTRAP_RULES } from "./core/generations.ts";
import { readBootstrapOverride, writeBootstrap, writeGrpcBootstrap } from "./write-bootstrap.ts";

let dir: string;
let warnings: string[];
let log: Logger;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "write-bootstrap-"));
  warnings = [];
  log = { ...silentLogger, warn: (message) => void warnings.push(message) };
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const inputs = (overrides: InputOverrides = {}) =>
  sidecarInputs({ ...overrides, proxyConfig: { configPath: join(dir, "etc/proxy"), ...overrides.proxyConfig } });
const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);

describe("the generated file", () => {
  test("is private, in a directory that applications reach", async () => {
    const written = await writeBootstrap(inputs(), { log });
    expect(written).toMatchObject({ path: join(dir, "etc/proxy/envoy-rev.json"), generated: true });
    expect(JSON.parse(await readFile(written.path, "utf8"))).toHaveProperty(
      "node.id",
      "sidecar~10.0.0.1~p.ns~ns.svc.cluster.local",
    );
    expect([await modeOf(written.path), await modeOf(join(dir, "etc/proxy")), await modeOf(join(dir, "etc"))]).toEqual([
      "600",
      "755",
      "755",
    ]);
  });

  test("is removed at the end, once, however often that is asked for", async () => {
    const written = await writeBootstrap(inputs(), { log });
    await written.remove();
    expect(await readdir(join(dir, "etc/proxy"))).toEqual([]);
    await written.remove();
    expect(warnings).toEqual([]);
  });

  test("that another party has deleted is a warning", async () => {
    const written = await writeBootstrap(inputs(), { log });
    await rm(written.path);
    await written.remove();
    expect(warnings).toEqual([expect.stringContaining(`Failed to delete config file ${written.path}: `)]);
  });

  test("replaces one that a killed agent left behind", async () => {
    const first = await writeBootstrap(inputs(), { log });
    await writeFile(first.path, "{ cut short");
    await writeBootstrap(inputs(), { log });
    JSON.parse(await readFile(first.path, "utf8"));
  });

  test("of early generations has one name per epoch", async () => {
    const written = await writeBootstrap(inputs({ generation: "1.7" }), { log, epoch: 3 });
    expect(written.path).toBe(join(dir, "etc/proxy/envoy-rev3.json"));
  });

  test("comes with Lightstep's token, private too, which stays", async () => {
    const tracing = { lightstep: { address: "l:1", accessToken: "secret" } };
    const written = await writeBootstrap(inputs({ proxyConfig: { tracing } }), { log });
    const token = join(dir, "etc/proxy/lightstep_access_token.txt");
    expect(await readFile(token, "utf8")).toBe("secret");
    expect(await modeOf(token)).toBe("600");
    await written.remove();
    expect(await readdir(join(dir, "etc/proxy"))).toEqual(["lightstep_access_token.txt"]);
  });

  test("warnings are logged", async () => {
    await writeBootstrap(inputs({ env: { ISTIO_META_DNS_CAPTURE: "ALL" } }), { log });
    expect(warnings).toEqual([expect.stringContaining('ISTIO_META_DNS_CAPTURE: "ALL" is not a boolean')]);
  });
});

describe("a start that fails", () => {
  test.each([
    [
      { proxyConfig: { discoveryAddress: "bad" } },
      'failed to generate bootstrap config: unable to parse pilot_grpc_address address "bad": address bad: missing port in address',
    ],
    [{ env: { ISTIO_META_POD_PORTS: "x" } }, "failed to generate bootstrap metadata: ISTIO_META_POD_PORTS: "],
    [
      { env: { ISTIO_BOOTSTRAP: "/nowhere/tmpl.json" } },
      "failed to generate bootstrap config: open /nowhere/tmpl.json: no such file or directory",
    ],
    [
      { proxyConfig: { proxyBootstrapTemplatePath: "/tmp" } },
      "failed to generate bootstrap config: read /tmp: is a directory",
    ],
  ])("%j says why and leaves the earlier file alone", async (overrides, message) => {
    const { path } = await writeBootstrap(inputs(), { log });
    const before = await readFile(path, "utf8");
    await expect(writeBootstrap(inputs(overrides), { log })).rejects.toThrow(message);
    expect(await readFile(path, "utf8")).toBe(before);
    expect(await readdir(join(dir, "etc/proxy"))).toEqual(["envoy-rev.json"]);
  });

  test("an unusable directory is a coded error", async () => {
    await writeFile(join(dir, "etc"), "a file");
    await expect(writeBootstrap(inputs(), { log })).rejects.toMatchObject({
      code: "write-failed",
      message: /^failed to generate bootstrap config: /,
    });
  });
});

describe("templates", () => {
  test("ISTIO_BOOTSTRAP beats the configured template; the name decides the extension", async () => {
    await writeFile(join(dir, "one.json"), "one");
    await writeFile(join(dir, "two.yaml.tmpl"), "node: {{ .nodeType }}");
    const proxyConfig = { proxyBootstrapTemplatePath: join(dir, "one.json") };
    const one = await writeBootstrap(inputs({ proxyConfig }), { log });
    expect([one.path.endsWith("envoy-rev.json"), await readFile(one.path, "utf8")]).toEqual([true, "one"]);
    const two = await writeBootstrap(inputs({ proxyConfig, env: { ISTIO_BOOTSTRAP: join(dir, "two.yaml.tmpl") } }), {
      log,
    });
    expect([two.path.endsWith("envoy-rev.yaml"), await readFile(two.path, "utf8")]).toEqual([true, "node: sidecar"]);
  });

  test("the image's own template is used unless another one is named; one that cannot be used is a warning", async () => {
    const imageTemplate = join(dir, "envoy_bootstrap_tmpl.json");
    const write = async (text: string, overrides = {}) => {
      await writeFile(imageTemplate, text);
      return readFile((await writeBootstrap(inputs(overrides), { log, imageTemplate })).path, "utf8");
    };
    const builtIn = await readFile((await writeBootstrap(inputs(), { log, imageTemplate })).path, "utf8");
    expect(await write('{"mine": "{{ .nodeType }}"}')).toBe('{"mine": "sidecar"}');
    expect(warnings).toEqual([]);
    await writeFile(join(dir, "named.json"), "named");
    expect(await write("{}", { env: { ISTIO_BOOTSTRAP: join(dir, "named.json") } })).toBe("named");
    for (const text of ["{{ .nodeType", "not JSON"]) expect((await write(text)) === builtIn).toBe(true);
    expect(warnings).toEqual(Array(2).fill(expect.stringContaining(`${imageTemplate} is not used: `)));
  });

  test("a stock template makes the built-in document; with one letter more it counts as the image's own", async () => {
    const imageTemplate = join(dir, "envoy_bootstrap_tmpl.json");
    const stock = '{"node": {"id": "stock"}}';
    const stockTemplates = new Set([createHash("sha256").update(stock).digest("hex")]);
    const lines: string[] = [];
    const noting = { ...log, info: (line: string) => void lines.push(line) };
    const write = async () =>
      readFile((await writeBootstrap(inputs(), { log: noting, imageTemplate, stockTemplates })).path, "utf8");
    const builtIn = await write();
    await writeFile(imageTemplate, stock);
    expect((await write()) === builtIn).toBe(true);
    expect(lines).toEqual([]);
    await writeFile(imageTemplate, `${stock} `);
    expect(JSON.parse(await write())).toEqual({ node: { id: "stock" } });
    expect(lines).toEqual([`The bootstrap is made from the image's own template ${imageTemplate}`]);
  });

  test("the user's own bootstrap is used as it is, and not deleted", async () => {
    const custom = join(dir, "mine.json");
    await writeFile(custom, "{}");
    const written = await writeBootstrap(inputs({ proxyConfig: { customConfigFile: custom } }), { log });
    expect(written).toMatchObject({ path: custom, generated: false, node: { cluster: "istio-proxy.ns" } });
    await written.remove();
    expect(await readdir(dir)).toEqual(["mine.json"]);
  });
});

describe("the override", () => {
  const read = (env: Record<string, string>, generation: "master" | "1.20" = "master") =>
    readBootstrapOverride({ env, rules: BOOTSTRAP_RULES[generation] }, log);

  test("is converted with the host's address", async () => {
    await writeFile(join(dir, "o.yaml"), "b: $(HOST_IP)\na: 1\n");
    const env = { ISTIO_BOOTSTRAP_OVERRIDE: join(dir, "o.yaml"), HOST_IP: "10.0.0.9" };
    expect(await read(env)).toBe('{"a":1,"b":"10.0.0.9"}');
    expect(await read(env, "1.20")).toBe("b: $(HOST_IP)\na: 1\n");
    expect(await read({})).toBeUndefined();
  });

  test("that cannot be used is a warning", async () => {
    const missing = join(dir, "missing");
    expect(await read({ ISTIO_BOOTSTRAP_OVERRIDE: missing })).toBeUndefined();
    await writeFile(join(dir, "bad"), "a: [");
    expect(await read({ ISTIO_BOOTSTRAP_OVERRIDE: join(dir, "bad") })).toBeUndefined();
    await writeFile(join(dir, "alias"), "a: *x");
    expect(await read({ ISTIO_BOOTSTRAP_OVERRIDE: join(dir, "alias") })).toBeUndefined();
    expect(warnings).toEqual([
      `Failed to read bootstrap override: failed to read file: ${missing}, open ${missing}: no such file or directory`,
      `Failed to read bootstrap override: failed to convert to JSON: ${join(dir, "bad")}, yaml: line 1: did not find expected node content`,
      `Failed to read bootstrap override: failed to convert to JSON: ${join(dir, "alias")}, yaml: unknown anchor 'x' referenced`,
    ]);
  });
});

describe("the proxyless bootstrap", () => {
  test("is readable for applications and written again without a gap", async () => {
    const target = { path: join(dir, "a/b/grpc-bootstrap.json"), outputCerts: "" };
    await writeGrpcBootstrap(inputs(), target, { log });
    await writeGrpcBootstrap(inputs(), target, { log });
    expect([await modeOf(target.path), await modeOf(join(dir, "a/b"))]).toEqual(["644", "755"]);
    expect(await readdir(join(dir, "a/b"))).toEqual(["grpc-bootstrap.json"]);
  });

  test("fails with a reason", async () => {
    const target = { path: join(dir, "g.json"), outputCerts: "" };
    await expect(writeGrpcBootstrap(inputs({ env: { ISTIO_META_LABELS: "x" } }), target, { log })).rejects.toThrow(
      "failed generating gRPC XDS bootstrap: ISTIO_META_LABELS: ",
    );
  });
});

describe("for another user", () => {
  beforeEach(needs("root"));

  test("everything belongs to the user Envoy runs as", async () => {
    const owner = { uid: 1337, gid: 1337 };
    const { path } = await writeBootstrap(inputs(), { log, owner });
    for (const made of [path, join(dir, "etc/proxy"), join(dir, "etc")]) expect(await stat(made)).toMatchObject(owner);
  });
});
