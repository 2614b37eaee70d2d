import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { complaints, type MeshRun, startMeshRun } from "../test/support/mesh/run.ts";
import { has, needs } from "../test/support/needs.ts";
import { freePorts } from "../test/support/net/free-ports.ts";
import { type OciRegistry, startOciRegistry } from "../test/support/oci/registry.ts";
import { until } from "../test/support/wait/until.ts";
import { crashingPlugin, headerPlugin } from "../test/support/wasm/plugin.ts";

beforeEach(needs("envoy"));

const USER = { user: "me", password: "word" };
let mesh: MeshRun;
let url: string;
let port: number;
let registry: OciRegistry;
let closed: OciRegistry;

/** A service that anybody may call, behind an Envoy of its own. */
const file = () => `configDir: ./rules
services:
  web:
    port: ${port}
    entry: true
    calls: []
    command: [node, -e, 'require("http").createServer((_, out) => out.end("hello")).listen(process.env.PORT, process.env.HOST)']
`;

beforeAll(async () => {
  if (!has("envoy")) return;
  [port = 0] = await freePorts(1);
  mesh = startMeshRun({ file: file(), files: { "rules/.keep": "" }, args: ["--isolation", "none"] });
  [registry, closed] = await Promise.all([startOciRegistry(), startOciRegistry({ auth: { kind: "basic", ...USER } })]);
  await mesh.untilUp();
  url = (await mesh.status()).entries.web ?? "";
}, 90_000);

afterAll(async () => {
  if (!has("envoy")) return;
  for (const one of [mesh, registry, closed]) await one[Symbol.asyncDispose]();
});

const object = (apiVersion: string, kind: string, name: string, spec: object) =>
  JSON.stringify({ apiVersion, kind, metadata: { name, namespace: "default" }, spec });
const plugin = (name: string, spec: object) => object("extensions.istio.io/v1alpha1", "WasmPlugin", name, spec);

async function get(path = "/") {
  const answer = await fetch(`${url}${path}`, { headers: { connection: "close" } });
  const { "x-before": before, "x-after": after } = Object.fromEntries(answer.headers);
  return { status: answer.status, body: await answer.text(), before, after };
}

/** Puts the objects in force until the test ends. */
async function apply(...objects: readonly string[]): Promise<AsyncDisposable> {
  return put(objects, { isRefused: false });
}

async function put(
  objects: readonly string[],
  { isRefused }: { readonly isRefused: boolean },
): Promise<AsyncDisposable> {
  const name = mesh.write(`rules-${applied++}.yaml`, objects.join("\n---\n"));
  const change = async (...words: readonly string[]) => {
    const result = await mesh.cli("apply", "-f", name, ...words);
    // A warning is not a fault.
    return { code: result.code, said: complaints(result).filter((line) => !line.startsWith("warning: ")) };
  };
  const { code, said } = await change();
  if (!isRefused) expect([code, said]).toEqual([0, []]);
  return {
    [Symbol.asyncDispose]: async () => {
      await change("--delete");
    },
  };
}

let applied = 0;

function controlPlaneLog(): string {
  return readFileSync(join(mesh.stateFolder, "logs", "control-plane.log"), "utf8");
}

async function untilAnswer(wanted: object, path = "/"): Promise<void> {
  await until(async () => {
    const answer = await get(path).catch(String);
    try {
      expect(answer).toMatchObject(wanted);
      return undefined;
    } catch {
      return `the answer is ${JSON.stringify(answer)}`;
    }
  });
}

const HEALTHY = { status: 200, body: "hello", before: undefined, after: undefined };

describe("Wasm plugins", () => {
  test("of a registry run before and after authorization", async () => {
    registry.push("filters/before", "v1", headerPlugin("x-before", "yes"));
    registry.push("filters/after", "v1", headerPlugin("x-after", "yes"));
    await using _rules = await apply(
      plugin("before", { url: `oci://${registry.host}/filters/before:v1`, phase: "AUTHN" }),
      plugin("after", { url: `${registry.host}/filters/after:v1`, phase: "STATS" }),
      object("security.istio.io/v1", "AuthorizationPolicy", "no", {
        action: "DENY",
        rules: [{ to: [{ operation: { paths: ["/no"] } }] }],
      }),
    );
    await untilAnswer({ status: 200, body: "hello", before: "yes", after: "yes" });
    // Who is refused has been seen by the first, and never gets to the second.
    expect(await get("/no")).toMatchObject({ status: 403, before: "yes", after: undefined });
  });

  test("of a registry that asks for a login get it from a Secret, as soon as it is there", async () => {
    await untilAnswer(HEALTHY);
    closed.push("filters/before", "v1", headerPlugin("x-before", "with login"));
    await using _rules = await apply(
      plugin("p", { url: `oci://${closed.host}/filters/before:v1`, imagePullSecret: "login" }),
    );
    // Without its module the plugin lets nobody through.
    await untilAnswer({ status: 403 });
    const auth = Buffer.from(`${USER.user}:${USER.password}`).toString("base64");
    const login = JSON.stringify({ auths: { [closed.host]: { auth } } });
    mesh.write(
      "rules/login.yaml",
      JSON.stringify({
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "login", namespace: "default" },
        stringData: { ".dockerconfigjson": login },
      }),
    );
    await untilAnswer({ status: 200, before: "with login" });
    expect(mesh.output()).not.toContain(auth);
  });

  test.each([
    { failStrategy: "FAIL_CLOSE", status: 503 },
    { failStrategy: "FAIL_OPEN", status: 200 },
    { failStrategy: "FAIL_RELOAD", status: 503 },
  ])("that crash at every request answer $status with $failStrategy, and are gone without a trace", async (row) => {
    const { failStrategy, status } = row;
    await untilAnswer(HEALTHY);
    registry.push("filters/crash", "v1", crashingPlugin());
    registry.push("filters/before", "v1", headerPlugin("x-before", "yes"));
    const crashing = await apply(
      plugin("a-before", { url: `oci://${registry.host}/filters/before:v1`, phase: "AUTHN" }),
      plugin("crash", { url: `oci://${registry.host}/filters/crash:v1`, failStrategy }),
    );
    await untilAnswer({ status, before: "yes" });
    for (let count = 0; count < 20; count += 1) {
      const answer = await get();
      // A VM that is loaded again may take requests in between, and crashes again.
      expect([status, 503, 500]).toContain(answer.status);
    }
    await crashing[Symbol.asyncDispose]();
    await untilAnswer(HEALTHY);
  });
});

const NETWORKING = "networking.istio.io/v1alpha3";
const inManager = {
  context: "SIDECAR_INBOUND",
  listener: { filterChain: { filter: { name: "envoy.filters.network.http_connection_manager" } } },
};

test("the sample of a local rate limit lets ten requests through and answers 429 to the rest", async () => {
  await untilAnswer(HEALTHY);
  const sample = readFileSync(join(import.meta.dirname, "../deploy/samples/rate-limit-local.yaml"), "utf8");
  {
    await using _rules = await apply(sample.replace("inbound|http|8080", `inbound|http|${port}`));
    await untilAnswer({ status: 429 });
    expect((await fetch(`${url}/`)).headers.get("x-local-rate-limit")).toBe("true");
  }
  await untilAnswer(HEALTHY);
});

test("a patch that Envoy refuses leaves the configuration before in force, and its object is named", async () => {
  await untilAnswer(HEALTHY);
  const lua = (name: string, inlineCode: string) =>
    object(NETWORKING, "EnvoyFilter", name, {
      configPatches: [
        {
          applyTo: "HTTP_FILTER",
          match: inManager,
          patch: {
            operation: "INSERT_BEFORE",
            value: {
              name: name,
              typed_config: {
                "@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua",
                default_source_code: { inline_string: inlineCode },
              },
            },
          },
        },
      ],
    });
  {
    await using _good = await apply(
      lua("tag", 'function envoy_on_response(handle) handle:headers():add("x-before", "lua") end'),
    );
    await untilAnswer({ status: 200, before: "lua" });
    await using _bad = await put([lua("broken-script", "this is not a script")], { isRefused: true });
    await until(() => {
      const [line] = controlPlaneLog().match(/.*proxy refused its configuration.*/g) ?? [];
      return line?.includes("EnvoyFilter default/broken-script") ? undefined : `no such line: ${line}`;
    });
    expect(await get()).toMatchObject({ status: 200, before: "lua" });
  }
  await untilAnswer(HEALTHY);
});

test("two thousand policies on one workload are in force at once, and gone at once", async () => {
  await untilAnswer(HEALTHY);
  const policies = Array.from({ length: 2000 }, (_, index) =>
    object("security.istio.io/v1", "AuthorizationPolicy", `p${index}`, {
      rules: [{ to: [{ operation: { paths: [`/p${index}/*`] } }] }],
    }),
  );
  {
    await using _rules = await apply(...policies);
    await untilAnswer({ status: 403 });
    expect(await get("/p0/x")).toMatchObject({ status: 200 });
    expect(await get("/p1999/x")).toMatchObject({ status: 200 });
    expect(await get("/p2000/x")).toMatchObject({ status: 403 });
  }
  await untilAnswer(HEALTHY);
});
