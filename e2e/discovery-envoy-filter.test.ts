import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startDiscoveryMesh } from "../test/support/discovery/mesh.ts";
import { documents, hostOf, ruleObject, serviceEntry } from "../test/support/discovery/rules.ts";
import { sharedPlace } from "../test/support/shared-place.ts";
import { until } from "../test/support/wait/until.ts";

const NEEDS = ["envoy", "root", "netns", "iptables", "setpriv"] as const;
const SERVER = "10.10.2.1";
const VIP = "10.96.0.20";

const services = serviceEntry({
  name: "server",
  vip: VIP,
  ports: [{ number: 80, name: "http", protocol: "HTTP", targetPort: 9002 }],
  endpoints: [{ address: SERVER, serviceAccount: "server" }],
});
const filter = (...configPatches: readonly object[]) =>
  ruleObject("networking.istio.io/v1alpha3", "EnvoyFilter", "patches", {
    workloadSelector: { labels: { app: "server" } },
    configPatches,
  });
const beforeRouter = (value: object) => ({
  applyTo: "HTTP_FILTER",
  match: {
    context: "SIDECAR_INBOUND",
    listener: {
      portNumber: 9002,
      filterChain: {
        filter: {
          name: "envoy.filters.network.http_connection_manager",
          subFilter: { name: "envoy.filters.http.router" },
        },
      },
    },
  },
  patch: { operation: "INSERT_BEFORE", value },
});
const lua = (code: string) =>
  beforeRouter({
    name: "envoy.filters.http.lua",
    typed_config: {
      "@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua",
      default_source_code: { inline_string: code },
    },
  });
const ADD_HEADER = 'function envoy_on_response(handle)\n  handle:headers():add("x-from-lua", "yes")\nend\n';

let logs = "";
const started = sharedPlace(NEEDS, async (opened) => {
  logs = mkdtempSync(join(tmpdir(), "access-"));
  opened.defer(async () => rmSync(logs, { recursive: true }));
  // Envoy is another user.
  chmodSync(logs, 0o777);
  const path = join(logs, "server.log");
  const provider = {
    name: "lines",
    envoyFileAccessLog: { path, logFormat: { text: "%RESPONSE_CODE% %REQ(:PATH)%" } },
  };
  const mesh = opened.add(
    await startDiscoveryMesh({
      files: { "services.yaml": documents(services) },
      mesh: JSON.stringify({ extensionProviders: [provider] }),
      // Agents of 1.20 trace by default, and an Envoy waits until it has looked up the collector.
      names: "127.0.0.1 zipkin.istio-system",
      workloads: [
        { name: "server", address: SERVER, labels: { app: "server" } },
        { name: "shop", address: "10.10.1.1", labels: { app: "shop" } },
      ],
    }),
  );
  await mesh.workload("server").listen({ kind: "http", port: 9002, name: "app" });
  return mesh;
});

async function get(path: string) {
  const call = { address: VIP, port: 80, host: hostOf("server"), path, fresh: true };
  const [answer] = await started().workload("shop").http(call);
  return answer;
}

test("a Lua filter that a patch puts before the router adds a header to answers", async () => {
  await until("the server answers", async () => (await get("/"))?.status === 200);
  expect((await get("/"))?.headers["x-from-lua"]).toBeUndefined();
  started().controlPlane.write("filter.yaml", filter(lua(ADD_HEADER)));
  await until("the header of the filter", async () => (await get("/"))?.headers["x-from-lua"] === "yes");
  expect(await started().rejections()).toEqual([]);
});

test("a patch that no proxy could take is left out, and those beside it stay in force", async () => {
  const unknown = beforeRouter({ name: "x", typed_config: { "@type": "type.googleapis.com/example.Nobody", a: 1 } });
  const behind = { ...lua(ADD_HEADER), patch: { ...lua(ADD_HEADER).patch, operation: "INSERT_AFTER" } };
  started().controlPlane.write("filter.yaml", filter(unknown, behind, lua(ADD_HEADER.replace("yes", "still"))));
  await until("the good patch is in force", async () => (await get("/"))?.headers["x-from-lua"] === "still");
  expect(await started().rejections()).toEqual([]);
  expect(await started().workload("server").rejections()).toEqual([]);
});

test("an access log with a filter has a line of each request that the filter lets through", async () => {
  const logging = [
    { providers: [{ name: "lines" }], filter: { expression: 'request.url_path.startsWith("/logged")' } },
  ];
  started().controlPlane.write(
    "telemetry.yaml",
    ruleObject("telemetry.istio.io/v1", "Telemetry", "lines", {
      selector: { matchLabels: { app: "server" } },
      accessLogging: logging.map((entry) => ({ ...entry, match: { mode: "SERVER" } })),
    }),
  );
  const lines = () => readFileSync(join(logs, "server.log"), "utf8");
  await until("Envoy writes its log", async () => {
    await get("/logged/first");
    return readLines(lines).includes("200 /logged/first");
  });
  await get("/silent");
  await get("/logged/last");
  await until("the line of the last request", async () => readLines(lines).includes("200 /logged/last"));
  expect(readLines(lines).filter((line) => !/^200 \/logged\/(first|last)$/.test(line))).toEqual([]);
  expect(await started().rejections()).toEqual([]);
});

test.each(["master", "1.20"])(
  "an agent of %s that asks for its bootstrap starts Envoy with the patches of the control plane",
  async (generation) => {
    const name = `boot-${generation.replace(".", "-")}`;
    const address = generation === "master" ? "10.10.3.1" : "10.10.3.2";
    const answering = {
      name: "patched",
      address: { socket_address: { address: "127.0.0.1", port_value: 19_999 } },
      filter_chains: [{ filters: [answerFilter("from the patch")] }],
    };
    const patches = ruleObject("networking.istio.io/v1alpha3", "EnvoyFilter", "boot", {
      workloadSelector: { labels: { app: "boot" } },
      configPatches: [
        merge({ static_resources: { listeners: [answering] }, stats_flush_interval: "7s" }),
        // Envoy would not start with two clusters of one name.
        merge({ static_resources: { clusters: [{ name: "agent" }] } }),
      ],
    });
    started().controlPlane.write("boot.yaml", patches);
    const workload = await started().add({
      name,
      address,
      labels: { app: "boot" },
      env: {
        BOOTSTRAP_XDS_AGENT: "true",
        PILOT_AGENT_GENERATION: generation,
      },
    });
    const [answer] = await workload.http({ address: "127.0.0.1", port: 19_999, host: "any", path: "/", fresh: true });
    expect(answer).toMatchObject({ status: 200, body: "from the patch" });
    const { configs } = JSON.parse(await workload.admin("/config_dump")) as { configs: { bootstrap?: Started }[] };
    const bootstrap = configs.find((config) => config.bootstrap !== undefined)?.bootstrap;
    expect(bootstrap?.stats_flush_interval).toBe("7s");
    expect(bootstrap?.static_resources.clusters.map((cluster) => cluster.name)).toContain("agent");
    const call = { address: VIP, port: 80, host: hostOf("server"), path: "/", fresh: true };
    await until("its calls reach the mesh", async () => (await workload.http(call))[0]?.status === 200);
    expect(started().controlPlane.output()).toContain(
      "EnvoyFilter default/boot: configPatches[1]: the name agent is taken",
    );
  },
);

interface Started {
  readonly stats_flush_interval?: string;
  readonly static_resources: { readonly clusters: readonly { readonly name: string }[] };
}

const merge = (value: object) => ({ applyTo: "BOOTSTRAP", patch: { operation: "MERGE", value } });

function answerFilter(body: string) {
  const TYPE = "type.googleapis.com/envoy.extensions.filters";
  const route = { match: { prefix: "/" }, direct_response: { status: 200, body: { inline_string: body } } };
  return {
    name: "envoy.filters.network.http_connection_manager",
    typed_config: {
      "@type": `${TYPE}.network.http_connection_manager.v3.HttpConnectionManager`,
      stat_prefix: "patched",
      route_config: { virtual_hosts: [{ name: "all", domains: ["*"], routes: [route] }] },
      http_filters: [{ name: "envoy.filters.http.router", typed_config: { "@type": `${TYPE}.http.router.v3.Router` } }],
    },
  };
}

/** The file is made when Envoy gets its listener. */
function readLines(read: () => string): readonly string[] {
  try {
    return read().split("\n").filter(Boolean);
  } catch {
    return [];
  }
}
