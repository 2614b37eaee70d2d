import { createServer } from "node:http";
import { connect } from "node:net";
import { beforeEach, describe, expect, test } from "vitest";
import { makeCertificate } from "../test/support/certs/certificates.ts";
import { complaints, execute, leftovers, startMeshRun } from "../test/support/mesh/run.ts";
import { needs, type Requirement } from "../test/support/needs.ts";
import { fetchAnswer } from "../test/support/net/fetch-answer.ts";
import { freePorts } from "../test/support/net/free-ports.ts";
import { until } from "../test/support/wait/until.ts";

const MODES: readonly { readonly isolation: "namespaces" | "none"; readonly requires: readonly Requirement[] }[] = [
  { isolation: "namespaces", requires: ["envoy", "netns", "iptables", "setpriv"] },
  { isolation: "none", requires: ["envoy"] },
];

interface Ports {
  readonly web: number;
  readonly raw: number;
  readonly gate: number;
  readonly outside: number;
}

function file({ web, raw, gate, outside }: Ports): string {
  return `namespace: pair
services:
  double:
    ports: {web: ${web}, raw: {port: ${raw}, protocol: tcp}}
    entry: true
    calls: []
    command: |
      exec node -e 'require("http").createServer((_, out) => out.end("from " + process.env.PORT)).listen(process.env.PORT, process.env.HOST);
        require("net").createServer((socket) => socket.end("raw bytes")).listen(process.env.PORT_RAW, process.env.HOST)'
  ingress:
    kind: gateway
    ports: {http: ${gate}}
  caller:
    calls: [double, machines]
    command: exec sleep 1000
  machines:
    port: ${web}
    endpoints:
      - {address: 127.0.0.1, port: ${outside}, labels: {version: v1}}
config:
  - apiVersion: networking.istio.io/v1
    kind: Gateway
    metadata: {name: door}
    spec:
      selector: {istio: ingressgateway}
      servers: [{port: {number: ${gate}, name: http, protocol: HTTP}, hosts: ["shop.test"]}]
  - apiVersion: networking.istio.io/v1
    kind: VirtualService
    metadata: {name: door}
    spec:
      hosts: ["shop.test"]
      gateways: [door]
      http:
        - match: [{uri: {prefix: /machines}}]
          route: [{destination: {host: machines.pair.svc.cluster.local, port: {number: ${web}}}}]
        - route: [{destination: {host: double.pair.svc.cluster.local, port: {number: ${web}}}}]
`;
}

/** Two programs that speak xDS themselves, and one behind a sidecar. */
function proxylessFile(front: number, grpc: number): string {
  const app = (name: string) => `command: eval exec "$PILOT_AGENT" mesh demo-app ${name}`;
  const mutual = (name: string) => `
  - apiVersion: networking.istio.io/v1
    kind: DestinationRule
    metadata: {name: ${name}}
    spec: {host: ${name}.pair.svc.cluster.local, trafficPolicy: {tls: {mode: ISTIO_MUTUAL}}}`;
  return `namespace: pair
services:
  front: {kind: proxyless, port: ${front}, calls: [catalogue, prices], ${app("proxyless-front")}}
  catalogue: {kind: proxyless, port: ${grpc}, protocol: grpc, calls: [], ${app("proxyless-catalogue")}}
  prices: {port: ${grpc}, protocol: grpc, calls: [catalogue], ${app("prices")}}
config:${mutual("catalogue")}${mutual("prices")}
`;
}

function tlsDoor(port: number, { cert, key }: { readonly cert: string; readonly key: string }): string {
  return `apiVersion: v1
kind: Secret
metadata: {name: door}
type: kubernetes.io/tls
data: {tls.crt: ${cert}, tls.key: ${key}}
---
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: door}
spec:
  selector: {istio: ingressgateway}
  servers:
    - {port: {number: ${port}, name: https, protocol: HTTPS}, hosts: ["shop.test"], tls: {mode: SIMPLE, credentialName: door}}
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: door}
spec:
  hosts: ["shop.test"]
  gateways: [door]
  http: [{directResponse: {status: 200, body: {string: "behind TLS"}}}]
`;
}

/** A gRPC call with an empty request, by the variables of a caller. */
const LIST = `const session = require("http2").connect(process.env.CATALOGUE_URL);
const call = session.request({ ":method": "POST", ":path": "/shop.Catalogue/List", "content-type": "application/grpc", te: "trailers" });
call.on("data", (data) => process.stdout.write(data));
call.on("trailers", (trailers) => console.log("grpc-status", trailers["grpc-status"]));
call.on("close", () => session.close());
call.end(Buffer.alloc(5));`;

describe.each(MODES)("with isolation $isolation", ({ isolation, requires }) => {
  beforeEach(needs(...requires));

  test("gRPC programs without a sidecar call each other and services with one, and are called by them", async () => {
    const [front = 0, grpc = 0] = await freePorts(2);
    await using mesh = startMeshRun({
      file: proxylessFile(front, grpc),
      args: ["--isolation", isolation, "--quiet"],
    });
    await mesh.untilUp();
    const { workloads } = await mesh.status();
    expect(workloads.map(({ name, kind, envoyPid }) => [name, kind, envoyPid !== undefined])).toEqual([
      ["front", "proxyless", false],
      ["catalogue", "proxyless", false],
      ["prices", "sidecar", true],
    ]);
    const page = async () =>
      JSON.parse((await fetchAnswer(`http://${workloads[0]?.address}:${front}/`)).body) as {
        readonly catalogue: { readonly caller?: string };
        readonly price: { readonly servedBy?: string };
      };
    await until(async () => {
      const { catalogue, price } = await page();
      return catalogue.caller !== undefined && price.servedBy !== undefined
        ? undefined
        : JSON.stringify([catalogue, price]);
    });
    expect((await page()).catalogue.caller).toBe("spiffe://cluster.local/ns/pair/sa/front");
    expect((await page()).price.servedBy).toBe("prices");
    const { stdout } = await mesh.cli("exec", "prices", "--", "node", "-e", LIST, "--");
    expect(stdout).toContain("spiffe://cluster.local/ns/pair/sa/prices");
    expect(stdout).toContain("grpc-status 0");
  });

  test("mesh apply takes the Secret of a gateway from a file, and --delete takes it back", async () => {
    const [free = 0] = await freePorts(1);
    // In a namespace also one that only root has elsewhere.
    const port = isolation === "namespaces" ? 443 : free;
    await using mesh = startMeshRun({
      file: `namespace: pair\nservices:\n  ingress: {kind: gateway, port: ${port}}\n`,
      args: ["--isolation", isolation, "--quiet"],
    });
    await mesh.untilUp();
    const { pem, keyPem } = await makeCertificate({ isCa: false, commonName: "shop.test", hosts: ["shop.test"] });
    const base64 = (text: string) => Buffer.from(text).toString("base64");
    mesh.write("door.yaml", tlsDoor(port, { cert: base64(pem), key: base64(keyPem) }));
    const applied = await mesh.cli("apply", "-f", "door.yaml");
    expect([applied.code, complaints(applied)]).toEqual([0, []]);
    expect(applied.stdout).toContain("Secret pair/door applied\n");
    const host = new URL((await mesh.status()).entries.ingress ?? "").hostname;
    const words = ["curl", "-sk", "-m", "30", "--resolve", `shop.test:${port}:${host}`, `https://shop.test:${port}/`];
    await until(async () => {
      const { stdout } = await execute(words, "/");
      return stdout === "behind TLS" ? undefined : `the gateway answers ${stdout}`;
    });
    const taken = await mesh.cli("apply", "--delete", "-f", "door.yaml");
    expect(taken.stdout).toContain("Secret pair/door taken back\n");
  });

  test("a service has several ports, a gateway opens its own, and machines outside are endpoints", async () => {
    const elsewhere = createServer((_, response) => response.end("from a machine")).listen(0, "127.0.0.1");
    await new Promise((ready) => elsewhere.once("listening", ready));
    const address = elsewhere.address();
    const outside = typeof address === "object" && address !== null ? address.port : 0;
    const [web = 0, raw = 0, gate = 0] = await freePorts(3);
    await using mesh = startMeshRun({
      file: file({ web, raw, gate, outside }),
      args: ["--isolation", isolation, "--quiet"],
    });
    await mesh.untilUp();
    const { entries, localEntries, workloads } = await mesh.status();
    expect(Object.keys(entries).sort()).toEqual(["double", "double/raw", "ingress"]);
    expect(entries["double/raw"]).toMatch(new RegExp(`^tcp://.*:${raw}$`));
    expect(localEntries.ingress).toBe(`http://localhost:${gate}`);
    expect(workloads.find(({ name }) => name === "double")?.listens).toEqual({ web, raw });
    expect(workloads.find(({ name }) => name === "ingress")).toMatchObject({ kind: "gateway" });
    await until(async () => {
      const { stdout } = await mesh.cli("status");
      return /^ingress +yes +\S+ +- +\d+ +\d+/m.test(stdout) ? undefined : stdout;
    });

    // From outside: each port, and the gateway by the host that its rules name.
    expect((await fetchAnswer(`${entries.double}/`)).body).toMatch(/^from \d+$/);
    expect(await bytes(raw, new URL(entries["double/raw"] ?? "").hostname)).toBe("raw bytes");
    const through = async (path: string, host = "shop.test") => {
      const words = ["curl", "-s", "-m", "30", "-w", " %{http_code}", "-H", `Host: ${host}`];
      return (await execute([...words, `http://127.0.0.1:${gate}${path}`], "/")).stdout;
    };
    await until(async () => {
      const answer = await through("/");
      return answer.endsWith(" 200") ? undefined : `the gateway answers ${answer}`;
    });
    expect(await through("/")).toMatch(/^from \d+ 200$/);
    expect(await through("/machines")).toBe("from a machine 200");
    expect(await through("/", "other.test")).toBe(" 404");

    // From inside: by the variables of each port.
    const ask = async (command: string) => (await mesh.cli("exec", "caller", "--", "sh", "-c", command)).stdout;
    expect(await ask("curl -s $DOUBLE_WEB_URL")).toMatch(/^from \d+$/);
    expect(await ask("curl -s $DOUBLE_URL")).toMatch(/^from \d+$/);
    expect(await ask("echo $DOUBLE_RAW_URL")).toMatch(new RegExp(`^tcp://[^:]+:${raw}\n$`));
    expect(
      await ask(
        "exec node -e 'require(\"net\").connect(process.env.DOUBLE_RAW_PORT, process.env.DOUBLE_RAW_HOST).pipe(process.stdout)'",
      ),
    ).toBe("raw bytes");
    expect(await ask("curl -s $MACHINES_URL")).toBe("from a machine");
    expect(await ask("env")).not.toMatch(/^INGRESS_/m);

    const state = mesh.state();
    mesh.child.kill("SIGTERM");
    expect(await mesh.exited).toBe(0);
    expect(await leftovers(state)).toEqual([]);
    await new Promise((closed) => elsewhere.close(closed));
  });
});

function bytes(port: number, host: string): Promise<string> {
  return new Promise((done, failed) => {
    let text = "";
    const socket = connect(port, host, () => undefined);
    socket.on("data", (data) => {
      text += String(data);
    });
    socket.on("error", failed);
    socket.on("close", () => done(text));
  });
}
