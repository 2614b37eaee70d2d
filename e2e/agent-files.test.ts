import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type AgentProcess, fetchText, freePorts, startAgentProcess } from "../test/support/agent/agent-process.ts";
import { staticBootstrap } from "../test/support/envoy/static-bootstrap.ts";
import { needs } from "../test/support/needs.ts";
import { until } from "../test/support/wait/until.ts";
import { type MeshControlPlane, startMeshControlPlane } from "../test/support/xds/mesh-control-plane.ts";

let controlPlane: MeshControlPlane;
beforeAll(async () => {
  controlPlane = await startMeshControlPlane({ resources: () => [] });
});
afterAll(() => controlPlane[Symbol.asyncDispose]());
beforeEach(needs("envoy"));

/** A document without xDS never makes the agent ready; its admin tells that Envoy runs with it. */
const untilLive = (agent: AgentProcess) =>
  until(async () => ((await agent.get("admin", "/ready")).status === 200 ? undefined : "not live"));

const proxyFile = (agent: AgentProcess, name: string) =>
  readFileSync(join(agent.folder, "etc/istio/proxy", name), "utf8");

describe("where the bootstrap comes from", () => {
  test("customConfigFile goes to Envoy as it is and stays", async () => {
    const [admin = 0, port = 0] = await freePorts(2);
    const text = JSON.stringify(staticBootstrap({ adminPort: admin, port }));
    await using agent = await startAgentProcess({
      controlPlane,
      files: { "own.json": text },
      proxyConfig: { customConfigFile: "own.json", proxyAdminPort: admin },
    });
    await until(async () => ((await fetchText(port, "/")).status === 200 ? undefined : "no answer"));
    expect(readdirSync(join(agent.folder, "etc/istio/proxy"))).not.toContain("envoy-rev.json");
    agent.kill("SIGTERM");
    expect(await agent.exited).toBe(0);
    expect(readFileSync(join(agent.folder, "own.json"), "utf8")).toBe(text);
  });

  const template = `{
    "node": { "id": "{{ .nodeID }}", "cluster": {{ .cluster | upper | toJson }} },
    {{- if eq .config.ProxyAdminPort 0 }} broken {{ end }}
    "admin": { "address": { "socket_address": { "address": "{{ .localhost }}", "port_value": {{ .config.ProxyAdminPort }} } } }
  }`;

  test("--templateFile is a Go template with Sprig; its output is gone at the end", async () => {
    await using agent = await startAgentProcess({
      controlPlane,
      files: { "template.json": template },
      args: ["--templateFile", "template.json"],
    });
    await untilLive(agent);
    expect(JSON.parse(proxyFile(agent, "envoy-rev.json")).node).toEqual({
      id: "sidecar~127.0.0.1~app.ns~ns.svc.cluster.local",
      cluster: "ISTIO-PROXY.NS",
    });
    // Written beside Envoy's start, not before it.
    const beside = join(agent.folder, "etc/istio/proxy/grpc-bootstrap.json");
    await expect.poll(() => existsSync(beside)).toBe(true);
    agent.kill("SIGTERM");
    expect(await agent.exited).toBe(0);
    expect(readdirSync(join(agent.folder, "etc/istio/proxy"))).toEqual(["grpc-bootstrap.json"]);
  });

  test("a template that the image brings along is used without being named", async () => {
    await using agent = await startAgentProcess({
      controlPlane,
      files: { "var/lib/istio/envoy/envoy_bootstrap_tmpl.json": template },
    });
    await untilLive(agent);
    expect(JSON.parse(proxyFile(agent, "envoy-rev.json")).node.cluster).toBe("ISTIO-PROXY.NS");
  });

  test("ISTIO_BOOTSTRAP goes before --templateFile, and a YAML template makes a YAML file", async () => {
    const yaml =
      "admin:\n  address:\n    socket_address: {address: 127.0.0.1, port_value: {{ .config.ProxyAdminPort }}}\n";
    await using agent = await startAgentProcess({
      controlPlane,
      files: { "own.yaml.tmpl": yaml },
      env: { ISTIO_BOOTSTRAP: "own.yaml.tmpl" },
      args: ["--templateFile", "not-there.json"],
    });
    await untilLive(agent);
    expect(proxyFile(agent, "envoy-rev.yaml")).toContain(`port_value: ${agent.ports.admin}`);
  });

  test.each([
    { what: "is missing", text: undefined, says: "open template.json: no such file or directory" },
    { what: "does not parse", text: "{{if}}", says: "template: bootstrap:1: missing value for if" },
  ])("a template that $what ends the start", async ({ text, says }) => {
    await using agent = await startAgentProcess({
      controlPlane,
      files: text === undefined ? {} : { "template.json": text },
      args: ["--templateFile", "template.json"],
    });
    expect(await agent.exited).toBe(255);
    expect(agent.stderr()).toContain(`failed to initialize envoy agent: failed to generate bootstrap config: ${says}`);
  });

  test("the override is merged in, with the node's address filled in", async () => {
    const cluster = {
      name: "extra",
      type: "STATIC",
      load_assignment: {
        cluster_name: "extra",
        endpoints: [
          {
            lb_endpoints: [{ endpoint: { address: { socket_address: { address: "$(HOST_IP)", port_value: 8126 } } } }],
          },
        ],
      },
    };
    await using agent = await startAgentProcess({
      controlPlane,
      files: { "override.json": JSON.stringify({ static_resources: { clusters: [cluster] } }) },
      env: { ISTIO_BOOTSTRAP_OVERRIDE: "override.json", HOST_IP: "10.1.2.3" },
    });
    await agent.untilReady();
    expect((await agent.get("admin", "/clusters")).body).toContain("extra::10.1.2.3:8126::");
  });
});

test("odd characters in names and labels reach Envoy as they are", async () => {
  const labels = { app: 'x"}\n\\', 'we"ird': "\u0001\t", ünï: "日本" };
  await using agent = await startAgentProcess({
    controlPlane,
    env: { POD_NAME: 'a"b\\c\n', ISTIO_METAJSON_LABELS: JSON.stringify(labels), ISTIO_META_X: '"},{' },
    files: { "etc/istio/pod/annotations": 'note="q\\"uote\\n"\n' },
  });
  await agent.untilReady();
  const { configs } = JSON.parse((await agent.get("admin", "/config_dump?mask=bootstrap.node")).body);
  const { node } = configs[0].bootstrap;
  expect(node.id).toBe('sidecar~127.0.0.1~a"b\\c\n.ns~ns.svc.cluster.local');
  expect(node.metadata).toMatchObject({ LABELS: labels, X: '"},{', ANNOTATIONS: { note: 'q"uote\n' } });
  expect(JSON.parse(proxyFile(agent, "grpc-bootstrap.json")).node.metadata.LABELS).toEqual(labels);
});

describe("modes and owners", () => {
  beforeEach(needs("root", "setpriv"));
  const asNobody = [
    "sh",
    "-c",
    'chown -R 65534:65534 . && exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"',
    "-",
  ];

  test.each([
    { who: "root", envoy: 0, owner: 0, directory: [0, 0], env: {}, wrapper: [] },
    {
      who: "root with Envoy as 1337",
      envoy: 1337,
      owner: 1337,
      directory: [0, 1337],
      env: { DNS_PROXY_ADDR: "127.0.0.1:53" },
      wrapper: [],
    },
    {
      who: "a plain user",
      envoy: 65534,
      owner: 65534,
      directory: [65534, 65534],
      env: { DNS_PROXY_ADDR: "127.0.0.1:53" },
      wrapper: asNobody,
    },
  ])(
    "as $who: Envoy reads what it needs, others only what is theirs",
    async ({ envoy, owner, directory, env, wrapper }) => {
      await using agent = await startAgentProcess({ controlPlane, env: { ...env, OUTPUT_CERTS: "out" }, wrapper });
      await agent.untilReady();
      const [pid] = await agent.envoyPids();
      expect(readFileSync(`/proc/${pid}/status`, "utf8")).toMatch(new RegExp(`^Uid:\\t${envoy}\\t`, "m"));
      const look = (path: string) => {
        const { mode, uid, gid } = statSync(join(agent.folder, path));
        return { mode: (mode & 0o777).toString(8), uid, gid };
      };
      const agentUser = directory[0];
      expect(look("etc/istio/proxy")).toMatchObject({ mode: "755", uid: agentUser });
      expect(look("etc/istio/proxy/XDS")).toMatchObject({ mode: "666" });
      expect(look("etc/istio/proxy/envoy-rev.json")).toEqual({ mode: "600", uid: owner, gid: owner });
      expect(look("etc/istio/proxy/grpc-bootstrap.json")).toMatchObject({ mode: "644" });
      const uds = "var/run/secrets/workload-spiffe-uds";
      expect(look(uds)).toEqual({ mode: "750", uid: directory[0], gid: directory[1] });
      expect(look(`${uds}/socket`)).toMatchObject({ mode: "666" });
      expect(look("out")).toEqual({ mode: "700", uid: agentUser, gid: agentUser });
      for (const file of ["key.pem", "cert-chain.pem", "root-cert.pem"])
        expect(look(`out/${file}`)).toEqual({ mode: "600", uid: agentUser, gid: agentUser });
    },
  );
});

describe("a full disk", () => {
  beforeEach(needs("root", "tmpfs"));
  const onSmall = (folder: string, size: string) => [
    ...[
      "unshare",
      "--mount",
      "sh",
      "-c",
      `mkdir -p ${folder} && mount -t tmpfs -o size=${size} tmpfs ${folder} && exec "$@"`,
      "-",
    ],
  ];

  test("ends the start where the bootstrap has no room, and names the file", async () => {
    await using agent = await startAgentProcess({ controlPlane, wrapper: onSmall("etc/istio/proxy", "4k") });
    expect(await agent.exited).toBe(255);
    expect(agent.stderr()).toContain("cannot write etc/istio/proxy/envoy-rev.json: ENOSPC");
  });

  test("costs the files of OUTPUT_CERTS, without which the gRPC bootstrap is not ready, and nothing else", async () => {
    await using agent = await startAgentProcess({
      controlPlane,
      env: { OUTPUT_CERTS: "out" },
      wrapper: onSmall("out", "8k"),
    });
    await until(async () => {
      const { status, body } = await agent.get("status", "/healthz/ready");
      return status === 503 && body.startsWith("grpc bootstrap: out/") ? undefined : `${status} ${body}`;
    });
    await until(async () => (/failed to write to out: ENOSPC/.test(agent.stdout()) ? undefined : "not reported"));
    expect((await agent.get("status", "/debug/certs")).body).toContain("spiffe://cluster.local/ns/ns/sa/app");
  });
});

describe("a start that does not come to its end leaves no bootstrap behind", () => {
  test("when a socket cannot be bound", async () => {
    await using agent = await startAgentProcess({ controlPlane, files: { "etc/istio/proxy/XDS/in-the-way": "" } });
    expect(await agent.exited).toBe(255);
    expect(agent.stderr()).toContain("etc/istio/proxy/XDS");
    expect(readdirSync(join(agent.folder, "etc/istio/proxy"))).toEqual(["XDS"]);
  });

  test("when SIGTERM comes while a cloud keeps it waiting, which then takes no longer", async () => {
    const silent = createServer((socket) => socket.on("error", () => undefined).resume()).listen(0, "127.0.0.1");
    await new Promise((listening) => silent.once("listening", listening));
    const address = silent.address();
    const port = typeof address === "object" ? address?.port : 0;
    await using agent = await startAgentProcess({
      controlPlane,
      env: { CLOUD_PLATFORM: "gcp", GCE_METADATA_HOST: `127.0.0.1:${port}` },
    });
    await until(async () => (agent.stdout().includes("Opening status port") ? undefined : "not started"));
    agent.kill("SIGTERM");
    expect(await agent.exited).toBe(0);
    expect(existsSync(join(agent.folder, "etc/istio/proxy/envoy-rev.json"))).toBe(false);
    silent.close();
  });
});

test("pod labels that cannot be read are reported, and the start goes on", async () => {
  await using agent = await startAgentProcess({ controlPlane, files: { "etc/istio/pod/labels/not-a-file": "" } });
  await until(async () => (agent.stdout().includes("Envoy command") ? undefined : "not started"));
  expect(agent.stdout().match(/warn\tfailed to read pod labels: .*/g)).toEqual([
    "warn\tfailed to read pod labels: read ./etc/istio/pod/labels: is a directory",
  ]);
});
