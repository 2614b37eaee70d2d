import { existsSync, readdirSync, statSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { fetchText, freePorts, startAgentProcess } from "../test/support/agent/agent-process.ts";
import { needs } from "../test/support/needs.ts";
import { startForwardProxy } from "../test/support/net/forward-proxy.ts";
import { startHttpServer } from "../test/support/net/http-server.ts";
import { startOciRegistry } from "../test/support/oci/registry.ts";
import { until } from "../test/support/wait/until.ts";
import { headerPlugin } from "../test/support/wasm/plugin.ts";
import { HTTP_WASM, NETWORK_WASM, remoteExtension, type WasmResource } from "../test/support/wasm/resources.ts";
import { type MeshResource, startMeshControlPlane } from "../test/support/xds/mesh-control-plane.ts";
import { httpListener } from "../test/support/xds/mesh-resources.ts";

beforeEach(needs("envoy"));

const RBAC = {
  http_filters: "type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC",
  filters: "type.googleapis.com/envoy.extensions.filters.network.rbac.v3.RBAC",
};
const WASM = { http_filters: HTTP_WASM, filters: NETWORK_WASM };

/** A listener whose first HTTP or network filter comes by ECDS, as a control plane configures a Wasm plugin. */
function listenerWithExtension(port: number, name: string, list: keyof typeof WASM = "http_filters"): MeshResource {
  const listener = httpListener({ name: `hello-${name}`, port, answer: "hi" });
  const filter = {
    name,
    config_discovery: {
      config_source: { ads: {}, resource_api_version: "V3", initial_fetch_timeout: "0s" },
      type_urls: [WASM[list], RBAC[list]],
    },
  };
  const body = JSON.parse(JSON.stringify(listener.body), (key, value) => (key === list ? [filter, ...value] : value));
  return { ...listener, body };
}

function extensionResource(resource: WasmResource): MeshResource {
  return {
    name: resource.name,
    type: "envoy.config.core.v3.TypedExtensionConfig",
    body: remoteExtension(resource),
  };
}

function headersOf(port: number): Promise<{ readonly status: number; readonly plugin: string | undefined }> {
  return new Promise((done, fail) => {
    const sent = request({ host: "127.0.0.1", port, agent: false, timeout: 5000 }, (response) => {
      response.resume();
      const plugin = response.headers["x-wasm"];
      response.on("end", () => done({ status: response.statusCode ?? 0, plugin: plugin?.toString() }));
    });
    sent.on("error", fail);
    sent.end();
  });
}

describe.each([
  { kind: "delta", env: { ISTIO_DELTA_XDS: "true" } },
  { kind: "sotw", env: { ISTIO_DELTA_XDS: "false" } },
])("$kind", ({ env }) => {
  test("Envoy runs a module that the agent pulled from a registry", async () => {
    await using registry = await startOciRegistry();
    registry.push("filters/header", "v1", headerPlugin("x-wasm", "from the registry"));
    const [port = 0] = await freePorts(1);
    await using controlPlane = await startMeshControlPlane({
      resources: () => [
        listenerWithExtension(port, "plugin"),
        extensionResource({ name: "plugin", url: `oci://${registry.host}/filters/header:v1` }),
      ],
    });
    await using agent = await startAgentProcess({ controlPlane, env });
    await agent.untilReady();
    await until(async () => {
      const { plugin } = await headersOf(port);
      return plugin === "from the registry" ? undefined : `x-wasm is ${plugin}`;
    });
    const data = join(agent.folder, "var/lib/istio/data");
    const [folder = ""] = readdirSync(data);
    const file = readdirSync(join(data, folder)).find((name) => name.endsWith(".wasm")) ?? "";
    expect(statSync(join(data, folder, file)).mode & 0o777).toBe(0o644);
    const dump = (await fetchText(agent.ports.admin, "/config_dump?resource=ecds_filters")).body;
    expect(dump).toContain(join(data, folder, file));
    const { body } = await agent.get("status", "/stats/prometheus");
    expect(body).toContain('istio_agent_wasm_config_conversion_count{result="success"} 1');
    expect(body).toContain('istio_agent_wasm_remote_fetch_count{result="success"} 1');
  });
});

test.each([
  { failOpen: false, status: 403 },
  { failOpen: true, status: 200 },
])("without its module a filter that may fail open ($failOpen) answers $status", async ({ failOpen, status }) => {
  const [port = 0, closed = 0] = await freePorts(2);
  await using controlPlane = await startMeshControlPlane({
    resources: () => [
      listenerWithExtension(port, "plugin"),
      extensionResource({ name: "plugin", url: `http://127.0.0.1:${closed}/m.wasm`, failOpen, timeout: "1s" }),
    ],
  });
  await using agent = await startAgentProcess({ controlPlane, env: { WASM_HTTP_REQUEST_MAX_RETRIES: "1" } });
  await agent.untilReady();
  await until(async () => {
    const answer = await headersOf(port);
    return answer.status === status ? undefined : `the answer is ${answer.status}`;
  });
  expect(agent.stdout() + agent.stderr()).toContain(`applying ${failOpen ? "allow" : "deny"} RBAC filter`);
  expect(existsSync(join(agent.folder, "var/lib/istio/data"))).toBe(false);
});

test("with the conversion off Envoy gets the remote source as it is and the agent asks no one", async () => {
  await using registry = await startOciRegistry();
  registry.push("filters/header", "v1", headerPlugin("x-wasm", "never"));
  const [port = 0] = await freePorts(1);
  await using controlPlane = await startMeshControlPlane({
    resources: () => [
      listenerWithExtension(port, "plugin"),
      extensionResource({ name: "plugin", url: `oci://${registry.host}/filters/header:v1` }),
    ],
  });
  await using agent = await startAgentProcess({
    controlPlane,
    env: { ISTIO_AGENT_ENABLE_WASM_REMOTE_LOAD_CONVERSION: "false" },
  });
  // Envoy itself demands a checksum of what it fetches, and this source has none.
  await until(async () => {
    const output = agent.stdout() + agent.stderr();
    return /TypedExtensionConfig rejected[\s\S]*RemoteDataSource/.test(output)
      ? undefined
      : `no refusal: ${output.slice(-2000)}`;
  });
  expect(registry.requests).toEqual([]);
});

test.each([
  { what: "is there", path: "header:v1", failOpen: false, answer: 200 },
  { what: "is missing and may fail open", path: "missing:v1", failOpen: true, answer: 200 },
  { what: "is missing and may not", path: "missing:v1", failOpen: false, answer: "refused" },
])("connections of a network filter whose module $what: $answer", async ({ path, failOpen, answer }) => {
  await using registry = await startOciRegistry();
  registry.push("filters/header", "v1", headerPlugin("x-wasm", "unused"), "artifact");
  const [port = 0] = await freePorts(1);
  await using controlPlane = await startMeshControlPlane({
    resources: () => [
      listenerWithExtension(port, "plugin", "filters"),
      extensionResource({
        name: "plugin",
        url: `oci://${registry.host}/filters/${path}`,
        filter: NETWORK_WASM,
        failOpen,
      }),
    ],
  });
  await using agent = await startAgentProcess({ controlPlane });
  await agent.untilReady();
  await until(async () => {
    const seen = await headersOf(port).then(
      ({ status }) => status,
      (failure: NodeJS.ErrnoException) => (failure.code === "ECONNRESET" ? "refused" : `${failure.code}`),
    );
    return seen === answer ? undefined : `the answer is ${seen}`;
  });
  expect(registry.requests.length).toBeGreaterThan(1);
});

test("Envoy runs a module over plain http that only the proxy of HTTP_PROXY can reach", async () => {
  await using server = await startHttpServer((_request, response) => {
    response.end(headerPlugin("x-wasm", "through the proxy"));
  });
  await using proxy = await startForwardProxy(server.port);
  const [port = 0] = await freePorts(1);
  await using controlPlane = await startMeshControlPlane({
    resources: () => [
      listenerWithExtension(port, "plugin"),
      extensionResource({ name: "plugin", url: "http://modules.example/m.wasm" }),
    ],
  });
  await using agent = await startAgentProcess({
    controlPlane,
    env: { http_proxy: `http://me:word@127.0.0.1:${proxy.port}`, NO_PROXY: "other.example" },
  });
  await agent.untilReady();
  await until(async () => {
    const { plugin } = await headersOf(port);
    return plugin === "through the proxy" ? undefined : `x-wasm is ${plugin}`;
  });
  expect(proxy.asked).toMatchObject([
    { target: "http://modules.example/m.wasm", login: `Basic ${Buffer.from("me:word").toString("base64")}` },
  ]);
});

describe("a disk without room", () => {
  beforeEach(needs("tmpfs"));

  test("fails the module that does not fit, leaves nothing of it, and the next one that does is run", async () => {
    const plugin = headerPlugin("x-wasm", "small");
    // A section that means nothing, of 200,000 bytes.
    const large = Buffer.concat([plugin, Buffer.from([0, 0xc0, 0x9a, 0x0c]), Buffer.alloc(200_000)]);
    await using server = await startHttpServer((request, response) => {
      response.end(request.url === "/large" ? large : plugin);
    });
    const [tooLarge = 0, small = 0] = await freePorts(2);
    const url = (path: string) => `http://127.0.0.1:${server.port}${path}`;
    await using controlPlane = await startMeshControlPlane({
      resources: () => [
        listenerWithExtension(tooLarge, "large"),
        listenerWithExtension(small, "small"),
        extensionResource({ name: "large", url: url("/large") }),
        extensionResource({ name: "small", url: url("/small") }),
      ],
    });
    const data = "var/lib/istio/data";
    const mount = `mkdir -p ${data} && mount -t tmpfs -o size=100k tmpfs ${data}`;
    await using agent = await startAgentProcess({
      controlPlane,
      wrapper: ["unshare", "--mount", "sh", "-c", `${mount} && exec "$@"`, "-"],
    });
    await agent.untilReady();
    await until(async () => {
      const answers = [await headersOf(tooLarge), await headersOf(small)].map(
        ({ status, plugin: seen }) => `${status} ${seen}`,
      );
      return answers.join() === "403 undefined,200 small" ? undefined : answers.join();
    });
    expect(agent.stdout() + agent.stderr()).toMatch(
      /cannot fetch Wasm module .*large: ENOSPC: no space left on device/,
    );
    // Seen from inside, where the disk is.
    const inside = join("/proc", String(agent.pid), "root", agent.folder, data);
    const [folder = "", ...others] = readdirSync(inside);
    expect(others).toEqual([]);
    expect(readdirSync(join(inside, folder))).toEqual([expect.stringMatching(/^[0-9a-f]{64}\.wasm$/)]);
  });
});
