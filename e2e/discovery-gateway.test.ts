import { expect, test } from "vitest";
import { opensslCertificates } from "../test/support/certs/openssl-certificates.ts";
import { tlsSecret } from "../test/support/discovery/gateway.ts";
import { startDiscoveryMesh } from "../test/support/discovery/mesh.ts";
import { documents, hostOf, ruleObject, serviceEntry } from "../test/support/discovery/rules.ts";
import type { Echo, HttpRequest, HttpResult } from "../test/support/discovery/workload.ts";
import { sharedPlace } from "../test/support/shared-place.ts";
import { until } from "../test/support/wait/until.ts";

const NEEDS = ["envoy", "root", "netns", "iptables", "setpriv"] as const;
const NETWORKING = "networking.istio.io/v1";
const GATEWAY = "10.10.1.2";

/** Files are named as the agent, which reads them, finds them from its folder. */
const gateway = ruleObject(NETWORKING, "Gateway", "edge", {
  selector: { app: "edge" },
  servers: [
    { port: { number: 8080, name: "http", protocol: "HTTP" }, hosts: ["web.example", "plain.example"] },
    {
      port: { number: 8081, name: "redirect", protocol: "HTTP" },
      hosts: ["*.example"],
      tls: { httpsRedirect: true },
    },
    {
      port: { number: 8443, name: "https", protocol: "HTTPS" },
      hosts: ["web.example"],
      tls: { mode: "SIMPLE", serverCertificate: "certs/tls.crt", privateKey: "certs/tls.key" },
    },
    {
      port: { number: 8443, name: "passthrough", protocol: "TLS" },
      hosts: ["secure.example"],
      tls: { mode: "PASSTHROUGH" },
    },
    {
      port: { number: 8444, name: "stored", protocol: "HTTPS" },
      hosts: ["web.example"],
      tls: { mode: "SIMPLE", credentialName: "stored" },
    },
    { port: { number: 9000, name: "tcp", protocol: "TCP" }, hosts: ["*"] },
  ],
});

const bound = (name: string, spec: object) =>
  ruleObject(NETWORKING, "VirtualService", name, { gateways: ["edge"], ...spec });
const to = (name: string, number: number) => [{ destination: { host: hostOf(name), port: { number } } }];

const services = documents(
  serviceEntry({
    name: "web",
    vip: "10.96.0.10",
    ports: [{ number: 80, name: "http", protocol: "HTTP", targetPort: 8080 }],
    endpoints: [{ address: "10.10.2.1", serviceAccount: "web" }],
  }),
  // No sidecar there: HTTP, TCP and TLS as it is.
  serviceEntry({
    name: "plain",
    vip: "10.96.0.11",
    ports: [
      { number: 80, name: "http", protocol: "HTTP", targetPort: 8080 },
      { number: 443, name: "tls", protocol: "TLS", targetPort: 8443 },
      { number: 9000, name: "tcp", protocol: "TCP", targetPort: 9000 },
    ],
    endpoints: [{ address: "10.10.2.2" }],
  }),
);

const rules = documents(
  gateway,
  bound("web", {
    hosts: ["web.example"],
    http: [
      { match: [{ uri: { prefix: "/api" } }], rewrite: { uri: "/v1" }, route: to("web", 80) },
      { route: to("web", 80) },
    ],
  }),
  bound("plain", { hosts: ["plain.example"], http: [{ route: to("plain", 80) }] }),
  bound("secure", {
    hosts: ["secure.example"],
    tls: [{ match: [{ port: 8443, sniHosts: ["secure.example"] }], route: to("plain", 443) }],
  }),
  bound("bytes", { hosts: ["bytes.example"], tcp: [{ match: [{ port: 9000 }], route: to("plain", 9000) }] }),
);

const started = sharedPlace(
  NEEDS,
  async (opened) => {
    const { server } = opensslCertificates();
    const mesh = opened.add(
      await startDiscoveryMesh({
        files: {
          "services.yaml": services,
          "rules.yaml": rules,
          "secret.yaml": JSON.stringify(tlsSecret("default", "stored", server)),
        },
        workloads: [
          { name: "client", address: "10.10.1.1", hasSidecar: false },
          {
            name: "edge",
            address: GATEWAY,
            isRouter: true,
            labels: { app: "edge" },
            files: { "certs/tls.crt": server.cert, "certs/tls.key": server.key },
          },
          { name: "web", address: "10.10.2.1" },
          { name: "plain", address: "10.10.2.2", hasSidecar: false },
        ],
      }),
    );
    await mesh.workload("web").listen({ kind: "http", port: 8080, name: "web" });
    const plain = mesh.workload("plain");
    await plain.listen({ kind: "http", port: 8080, name: "plain" });
    await plain.listen({ kind: "https", port: 8443, name: "behind", tls: { cert: server.cert, key: server.key } });
    await plain.listen({ kind: "tcp", port: 9000, name: "bytes" });
    return mesh;
  },
  async () => {
    await until(async () => {
      const answer = await call({ port: 8080, host: "web.example" });
      return answer.status === 200 ? undefined : `${answer.status} ${answer.body}${answer.error ?? ""}`;
    });
  },
);

async function call(request: Partial<HttpRequest> & { readonly port: number; readonly host: string }) {
  const [answer] = await started()
    .workload("client")
    .http({ address: GATEWAY, fresh: true, ...request });
  return answer ?? ({ status: 0, headers: {}, body: "", ms: 0 } satisfies HttpResult);
}

const echoOf = ({ body }: HttpResult) => JSON.parse(body || "{}") as Echo;
const overTls = (servername: string) => ({ port: 8443, host: servername, tls: { servername } });

test("hosts of one port lead to their own services, one of them by mutual TLS", async () => {
  const web = echoOf(await call({ port: 8080, host: "web.example", path: "/api/x" }));
  expect(web).toMatchObject({ name: "web", path: "/v1/x" });
  expect(web.headers["x-forwarded-client-cert"]).toContain("URI=spiffe://cluster.local/ns/default/sa/edge");
  expect(echoOf(await call({ port: 8080, host: "plain.example:8080" }))).toMatchObject({ name: "plain" });
});

test("hosts that no rule speaks of are not found, and what clients say of certificates is not passed on", async () => {
  expect((await call({ port: 8080, host: "other.example" })).status).toBe(404);
  const headers = { "x-forwarded-client-cert": "URI=spiffe://cluster.local/ns/default/sa/forged" };
  const answer = echoOf(await call({ port: 8080, host: "plain.example", headers }));
  expect(answer.headers["x-forwarded-client-cert"]).toBeUndefined();
});

test("HTTPS is ended with the certificate of files", async () => {
  expect(echoOf(await call(overTls("web.example")))).toMatchObject({ name: "web", protocol: "HTTP/1.1" });
});

test("HTTPS is ended with a Secret of the rule folder, which the control plane sends through the agent", async () => {
  const answer = echoOf(await call({ ...overTls("web.example"), port: 8444 }));
  expect(answer).toMatchObject({ name: "web", protocol: "HTTP/1.1" });
});

test("a server name that no one serves gets no connection", async () => {
  expect(await call(overTls("other.example"))).toMatchObject({ status: 0 });
});

test("plain clients are sent to HTTPS", async () => {
  const answer = await call({ port: 8081, host: "web.example", path: "/x" });
  expect(answer).toMatchObject({ status: 301, headers: { location: "https://web.example/x" } });
});

test("TLS of others is passed on by its server name, beside TLS that is ended", async () => {
  expect(echoOf(await call(overTls("secure.example")))).toMatchObject({ name: "behind" });
});

test("bytes go to the service of their port", async () => {
  const answer = await started().workload("client").tcp({ address: GATEWAY, port: 9000, send: "hello" });
  expect(answer.received).toContain("hello");
});

test("a Gateway that changes is followed, and nothing was refused on the way", async () => {
  const { controlPlane } = started();
  controlPlane.write("rules.yaml", documents(rules.replaceAll("plain.example", "renamed.example")));
  await until(async () => {
    const answer = await call({ port: 8080, host: "renamed.example" });
    return answer.status === 200 ? undefined : `${answer.status}`;
  });
  expect((await call({ port: 8080, host: "plain.example" })).status).toBe(404);
  expect(await started().workload("edge").rejections()).toEqual([]);
  expect(await started().rejections()).toEqual([]);
});
