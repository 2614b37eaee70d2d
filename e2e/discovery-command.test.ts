import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CloseStack } from "../src/base/close-stack.ts";
import { runProgram } from "../src/capture/run-program.ts";
import { needs } from "../test/support/needs.ts";
import { freePorts } from "../test/support/net/free-ports.ts";
import { createNetnsPair } from "../test/support/netns/netns.ts";
import { PROGRAM as program } from "../test/support/process/program.ts";
import { openDelta, testNode, URLS } from "../test/support/xds/ads-client.ts";

const opened = new CloseStack();
afterEach(() => opened.close());

const SERVICE = `apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: a, namespace: default, creationTimestamp: "2026-01-01T00:00:00Z"}
spec:
  hosts: [a.example]
  addresses: [10.96.0.1]
  location: MESH_INTERNAL
  resolution: STATIC
  ports: [{number: 80, name: http, protocol: HTTP}]
  endpoints: [{address: 10.0.0.1}]
`;

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "discovery-command-"));
  opened.defer(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, "config"));
  writeFileSync(join(folder, "config", "a.yaml"), SERVICE);
  return folder;
}

async function startServer(folder: string, ports: { http: number; grpc: number; secure: number; monitoring: number }) {
  const args = [
    "discovery",
    ...["--configDir", "config", "--grpcAddr", `:${ports.grpc}`, "--secureGRPCAddr", `127.0.0.1:${ports.secure}`],
    ...["--httpAddr", `127.0.0.1:${ports.http}`, "--monitoringAddr", `127.0.0.1:${ports.monitoring}`],
  ];
  const child = spawn(program, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += text));
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    child.kill(signal);
    await once(child, "exit");
    return child.exitCode;
  };
  opened.defer(async () => void (await end("SIGKILL")));
  await expect
    .poll(async () => {
      if (child.exitCode !== null) return output;
      return fetch(`http://127.0.0.1:${ports.http}/ready`).then(
        ({ status }) => status,
        () => 0,
      );
    })
    .toBe(200);
  return { end, output: () => output };
}

describe("pilot-agent discovery", () => {
  test("killed and started again, it has the same root and sends nothing twice; SIGTERM ends it with 0", async () => {
    const folder = makeFolder();
    const [http = 0, grpc = 0, secure = 0, monitoring = 0] = await freePorts(4);
    const ports = { http, grpc, secure, monitoring };
    const first = await startServer(folder, ports);
    const rootFile = join(folder, "etc/cacerts/root-cert.pem");
    const root = readFileSync(rootFile, "utf8");
    const stream = openDelta({ port: grpc });
    stream.send({ node: testNode(), typeUrl: URLS.CDS });
    const { resources } = await stream.next();
    const held = new Map(resources.map(({ name = "", version = "" }) => [name, version]));
    expect(held.has("outbound|80||a.example")).toBe(true);
    await stream[Symbol.asyncDispose]();
    await first.end("SIGKILL");

    const second = await startServer(folder, ports);
    expect(readFileSync(rootFile, "utf8")).toBe(root);
    const again = opened.add(openDelta({ port: grpc }));
    again.send({ node: testNode(), typeUrl: URLS.CDS, initialResourceVersions: held });
    const answer = await again.next();
    expect([answer.resources, answer.removedResources]).toEqual([[], []]);

    const shown = await runProgram({
      program,
      args: ["discovery", "request", "--port", String(monitoring), "GET", "/debug/syncz"],
    });
    expect(shown.stdout).toContain("web-1.default");
    expect(await second.end("SIGTERM")).toBe(0);
    expect((await again.ended).code).toBe("UNAVAILABLE");
  });

  test.each([
    { args: ["--grpcAddr", "nonsense"], says: 'Error: --grpcAddr is "nonsense"' },
    { args: ["--configDir", "/does/not/exist"], says: "config directory /does/not/exist cannot be read" },
    { args: ["--kubeconfig=/does/not/exist"], says: "kubeconfig /does/not/exist" },
    { args: ["--registries", "Mock"], says: "service registry Mock is not supported" },
    { args: ["extra"], says: "accepts no arguments, received 1: extra" },
  ])("with $args it ends with an error and no stack: $says", async ({ args, says }) => {
    const folder = makeFolder();
    const ports = ["--httpAddr=", "--monitoringAddr=", "--grpcAddr=", "--secureGRPCAddr="];
    const result = await runProgram({ program: "env", args: ["-C", folder, program, "discovery", ...ports, ...args] });
    expect(result.code).toBe(255);
    expect(result.stderr).toContain(says);
    expect(result.stderr).not.toMatch(/^\s+at /m);
  });

  test("--help has examples and the ports", async () => {
    const { stdout } = await runProgram({ program, args: ["discovery", "--help"] });
    expect(stdout).toContain("pilot-agent discovery --configDir ./mesh");
    expect(stdout).toContain('(default ":15012")');
  });
});

describe("plaintext from another machine", () => {
  beforeEach(needs("root", "netns"));

  /** Asks for clusters over bare HTTP/2 and prints the gRPC status. */
  const CLIENT = `
    const http2 = require("node:http2");
    const session = http2.connect("http://10.0.0.10:15010");
    session.on("error", (error) => { console.log("connect " + error.code); process.exit(0); });
    const call = session.request({ ":method": "POST", ":path": "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources", "content-type": "application/grpc", te: "trailers" });
    const say = (headers) => { if ("grpc-status" in headers) { console.log(headers["grpc-status"] + " " + decodeURIComponent(headers["grpc-message"] ?? "")); process.exit(0); } };
    call.on("response", say).on("trailers", say);
    call.on("data", () => { console.log("served"); process.exit(0); });
    call.write(Buffer.from(process.argv[1], "hex"));
  `;
  const request = async () => {
    const { discoveryRequest } = await import("../src/protobuf/wire/discovery.ts");
    const body = discoveryRequest.encode({ node: testNode(), typeUrl: URLS.CDS });
    const head = Buffer.alloc(5);
    head.writeUInt32BE(body.length, 1);
    return Buffer.concat([head, body]).toString("hex");
  };

  test.each([
    { address: ":15010", env: {}, says: "connect ECONNREFUSED" },
    { address: "", http: ":15010", env: {}, says: "7 plaintext xDS is for clients on this machine" },
    { address: "", http: ":15010", env: { PILOT_ALLOW_REMOTE_PLAINTEXT: "true" }, says: "served" },
    { address: "0.0.0.0:15010", env: {}, says: "7 plaintext xDS is for clients on this machine" },
    { address: "0.0.0.0:15010", env: { PILOT_ALLOW_REMOTE_PLAINTEXT: "true" }, says: "served" },
  ])("with --grpcAddr $address and $env: $says", async ({ address, http = "127.0.0.1:8080", env, says }) => {
    const folder = makeFolder();
    const { pod, remote } = opened.add(await createNetnsPair());
    const args = ["-C", folder, program, "discovery", "--configDir", "config", "--grpcAddr", address];
    const child = pod.spawn("env", [...args, "--httpAddr", http, "--monitoringAddr=", "--secureGRPCAddr="], env);
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (text) => (output += text));
    opened.defer(async () => {
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    });
    await expect.poll(() => output).toContain("xDS in plaintext");
    const { stdout, stderr } = await remote.exec("node", ["-e", CLIENT, await request()]);
    expect(`${stdout}${stderr}`).toContain(says);
  });
});
