import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import { createTestCa } from "../support/certs/test-ca.ts";
import { destinationRule, httpService, virtualService } from "../support/discovery/routes.ts";
import { type DiscoveryServer, startDiscoveryServer } from "../support/discovery/server.ts";
import { freePorts } from "../support/net/free-ports.ts";

const opened = new CloseStack();
afterEach(() => opened.close());

/** Two versions of a service; a share of the calls goes to each, and one method always fails. */
function objects(ports: readonly number[], http: readonly object[]): readonly object[] {
  return [
    httpService("quotes", {
      addresses: ["10.96.22.1"],
      ports: [{ number: 7070, name: "grpc", protocol: "GRPC" }],
      endpoints: ports.map((grpc, index) => ({
        address: "127.0.0.1",
        ports: { grpc },
        labels: { version: `v${index + 1}` },
      })),
    }),
    destinationRule("quotes", { subsets: ["v1", "v2"].map((version) => ({ name: version, labels: { version } })) }),
    virtualService("quotes", { http }),
  ];
}

const to = (subset: string, weight = 0) => ({ destination: { host: "quotes", subset }, weight });
const split = { route: [to("v1", 75), to("v2", 25)] };
const broken = {
  match: [{ uri: { prefix: "/quotes.Quotes/Fail" } }],
  fault: { abort: { percentage: { value: 100 }, grpcStatus: "DATA_LOSS" } },
  route: [to("v1")],
};

function documents(rules: readonly object[]): string {
  return rules.map((rule) => JSON.stringify(rule)).join("\n---\n");
}

interface Program {
  ask(message: object): Promise<Record<string, never>>;
}

/** gRPC's own xDS, in a process of its own: it reads its bootstrap from the environment, once. */
async function startProgram(server: DiscoveryServer, certificateProviders: object = {}): Promise<Program> {
  const bootstrap = {
    xds_servers: [
      {
        server_uri: `127.0.0.1:${server.ports.grpc}`,
        channel_creds: [{ type: "insecure" }],
        server_features: ["xds_v3"],
      },
    ],
    node: {
      locality: {},
      id: "sidecar~127.0.0.1~quotes.default~default.svc.cluster.local",
      metadata: { NAMESPACE: "default", GENERATOR: "grpc", INSTANCE_IPS: "127.0.0.1", CLUSTER_ID: "Kubernetes" },
    },
    certificate_providers: certificateProviders,
    server_listener_resource_name_template: "xds.istio.io/grpc/lds/inbound/%s",
  };
  const child = fork(join(import.meta.dirname, "../support/grpc/xds-program.cjs"), {
    env: { ...process.env, GRPC_XDS_BOOTSTRAP_CONFIG: JSON.stringify(bootstrap) },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  opened.add({ [Symbol.asyncDispose]: () => ended(child) });
  return {
    async ask(message) {
      child.send(message);
      const died = once(child, "exit").then(() => Promise.reject(new Error("the program ended")));
      const [answer] = await Promise.race([once(child, "message"), died]);
      return answer as Record<string, never>;
    },
  };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}

describe("programs that speak xDS themselves", () => {
  test("serve, are called by a short name, split by weight, fail by rule and follow a change", async () => {
    const ports = await freePorts(2);
    const files = (http: readonly object[]) => documents(objects(ports, http));
    const server = opened.add(await startDiscoveryServer({ files: { "mesh.yaml": files([broken, split]) } }));
    const program = await startProgram(server);

    expect(await program.ask({ serve: ports })).toEqual({ serving: ports });
    const answers = await program.ask({ call: "xds:///quotes:7070", method: "/quotes.Quotes/Get", times: 400 });
    expect(Object.keys(answers).sort()).toEqual(ports.map(String).sort());
    // Four sigma of a binomial with p = 0.25 and n = 400 is 35.
    expect(Math.abs((answers[String(ports[1])] ?? 0) - 100)).toBeLessThan(35);

    const failed = await program.ask({ call: "xds:///quotes:7070", method: "/quotes.Quotes/Fail", times: 5 });
    expect(failed).toEqual({ DATA_LOSS: 5 });

    server.write("mesh.yaml", files([{ route: [to("v2")] }]));
    const ten = () => program.ask({ call: "xds:///quotes:7070", method: "/quotes.Quotes/Get", times: 10 });
    await expect.poll(ten).toEqual({ [String(ports[1])]: 10 });
    expect(await (await server.get("/metrics")).text()).not.toMatch(/^pilot_total_xds_rejects\S* [1-9]/m);
  });

  test("prove who they are to each other where the mesh demands it, and no one else gets in", async () => {
    const ports = await freePorts(1);
    const [port = 0] = ports;
    const rules = [
      httpService("quotes", {
        ports: [{ number: 7070, name: "grpc", protocol: "GRPC" }],
        endpoints: [{ address: "127.0.0.1", ports: { grpc: port }, serviceAccount: "quotes" }],
      }),
      destinationRule("quotes", { trafficPolicy: { tls: { mode: "ISTIO_MUTUAL" } } }),
      {
        apiVersion: "security.istio.io/v1",
        kind: "PeerAuthentication",
        metadata: { name: "default", namespace: "default" },
        spec: { mtls: { mode: "STRICT" } },
      },
    ];
    const server = opened.add(await startDiscoveryServer({ files: { "mesh.yaml": documents(rules) } }));
    const ca = await createTestCa();
    const asAccount = async (account: string) => {
      const { cert, key } = await ca.pair([`spiffe://cluster.local/ns/default/sa/${account}`]);
      const write = (name: string, text: string) => {
        const path = join(server.folder, `${account}-${name}`);
        writeFileSync(path, text);
        return path;
      };
      const config = {
        certificate_file: write("cert.pem", cert),
        private_key_file: write("key.pem", key),
        ca_certificate_file: write("root.pem", ca.rootPem),
        refresh_interval: "600s",
      };
      return startProgram(server, { default: { plugin_name: "file_watcher", config } });
    };
    const quotes = await asAccount("quotes");
    await quotes.ask({ serve: ports, isXdsCredentials: true });
    const call = { call: "xds:///quotes:7070", method: "/quotes.Quotes/Get", times: 3 };
    expect(await quotes.ask({ ...call, isXdsCredentials: true })).toEqual({ [String(port)]: 3 });
    // The same port without a certificate.
    expect(await quotes.ask({ ...call, call: `127.0.0.1:${port}`, times: 1 })).toEqual({ UNAVAILABLE: 1 });
    const client = await asAccount("client");
    const once = () => client.ask({ ...call, times: 1, isXdsCredentials: true });
    expect(await once()).toEqual({ [String(port)]: 1 });
    // Now the server's name is another one than the registry says.
    server.write("mesh.yaml", documents(rules).replace('"serviceAccount":"quotes"', '"serviceAccount":"other"'));
    await expect.poll(once).toEqual({ UNAVAILABLE: 1 });
  });
});
