import { beforeEach, describe, expect, test } from "vitest";
import { Secret } from "../../src/base/secret.ts";
import type { ConsulSettings } from "../../src/settings/discovery-settings.ts";
import { makeCertificate } from "../support/certs/certificates.ts";
import { type RealConsul, startConsul } from "../support/consul/start-consul.ts";
import { startDiscoveryServer } from "../support/discovery/server.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { needs } from "../support/needs.ts";
import { startHttpServer } from "../support/net/http-server.ts";
import { until } from "../support/wait/until.ts";

beforeEach(needs("consul"));

const web = (given: object = {}) => ({
  ID: "web-1",
  Name: "web",
  Address: "10.0.0.1",
  Port: 8000,
  Tags: ["version|v1"],
  Meta: { protocol: "http" },
  Check: { CheckID: "web-1", TTL: "1h", Status: "passing" },
  ...given,
});

const connect = async (consul: RealConsul, given: Partial<ConsulSettings> = {}) => {
  const token = consul.token === undefined ? {} : { token: new Secret(consul.token) };
  const settings = { url: consul.url, datacenters: [], rulesPrefix: "istio/config", ...token, ...given };
  const server = await startDiscoveryServer({ consul: settings });
  const services = () => server.discovery.snapshot.services.filter(({ provider }) => provider === "Consul");
  const endpoints = (name: string) => {
    const service = services().find((each) => each.name === name);
    const found = service === undefined ? [] : server.discovery.snapshot.endpoints(service.key);
    return found.map(({ addresses, health }) => `${addresses[0]} ${health}`);
  };
  return { server, services, endpoints };
};

// Each has a Consul of its own, and some wait for limits of the control plane.
describe.concurrent("a real Consul", () => {
  test("gives services, their health and their end to the mesh", async () => {
    await using consul = await startConsul();
    await consul.register(web());
    const { server, services, endpoints } = await connect(consul);
    await using _ = server;
    expect(services().find(({ name }) => name === "web")).toMatchObject({
      hostname: "web.service.consul",
      ports: [{ name: "http", port: 8000, protocol: "HTTP" }],
    });
    expect(endpoints("web")).toEqual(["10.0.0.1 Healthy"]);
    await consul.register(web({ ID: "web-2", Address: "10.0.0.2", Check: { CheckID: "web-2", TTL: "1h" } }));
    await until(() => expect(endpoints("web")).toEqual(["10.0.0.1 Healthy", "10.0.0.2 UnHealthy"]));
    await consul.report("web-2", "passing");
    await consul.report("web-1", "critical");
    await until(() => expect(endpoints("web")).toEqual(["10.0.0.1 UnHealthy", "10.0.0.2 Healthy"]));
    await consul.deregister("web-1");
    await until(() => expect(endpoints("web")).toEqual(["10.0.0.2 Healthy"]));
    await consul.deregister("web-2");
    await until(() => expect(services().some(({ name }) => name === "web")).toBe(false));
  });

  test("that changes an address or metadata, which neither names nor checks show, is found by the sweep", async () => {
    await using consul = await startConsul();
    await consul.register(web());
    const { server, services, endpoints } = await connect(consul);
    await using _ = server;
    await consul.register(web({ Address: "10.0.0.7", Meta: { protocol: "grpc" } }));
    await until(() => expect(endpoints("web")).toEqual(["10.0.0.7 Healthy"]));
    expect(services().find(({ name }) => name === "web")?.ports[0]?.protocol).toBe("GRPC");
  });

  test("that is killed leaves the last state, and its changes count when it is back", async () => {
    await using consul = await startConsul({ persists: true });
    await consul.register(web());
    const { server, endpoints } = await connect(consul);
    await using _ = server;
    await consul.kill();
    await until(() => expect(server.log.texts()).toContain("warn Consul cannot be read, the last state stays"));
    expect(endpoints("web")).toEqual(["10.0.0.1 Healthy"]);
    await consul.start();
    await consul.register(
      web({ ID: "web-3", Address: "10.0.0.3", Check: { CheckID: "web-3", TTL: "1h", Status: "passing" } }),
    );
    await until(() => expect(endpoints("web")).toContain("10.0.0.3 Healthy"), 60_000);
  });

  test("that comes back with an empty catalog and a lower index takes its services away", async () => {
    await using consul = await startConsul();
    await consul.register(web());
    const { server, endpoints } = await connect(consul);
    await using _ = server;
    await consul.kill();
    await consul.start();
    await until(() => expect(endpoints("web")).toEqual([]), 60_000);
  });

  test("that is away at the start does not keep the control plane from starting, and its services follow", async () => {
    await using consul = await startConsul();
    await consul.register(web());
    consul.signal("SIGSTOP");
    const { server, endpoints } = await connect(consul);
    await using _ = server;
    expect(server.log.texts()).toContain("warn Consul has not been read yet; its services follow when it answers");
    consul.signal("SIGCONT");
    await until(() => expect(endpoints("web")).toEqual(["10.0.0.1 Healthy"]), 90_000);
  });

  test("with ACLs is read with a token, and a token without rights is named with what was refused", async () => {
    await using consul = await startConsul({ hasAcl: true });
    await consul.register(web());
    const { server, endpoints } = await connect(consul);
    await using _ = server;
    expect(endpoints("web")).toEqual(["10.0.0.1 Healthy"]);
    const denied = await connect(consul, { token: new Secret("99999999-2222-3333-4444-555555555555") });
    await using _denied = denied.server;
    expect(denied.endpoints("web")).toEqual([]);
    expect(denied.server.log.text()).toMatch(/Consul answers 403 to \/v1\/catalog\/services.*ACL not found/);
    expect(denied.server.log.text()).not.toContain("99999999-2222");
  });

  test("with TLS is read by a client certificate, also one that was replaced, and not without one", async () => {
    using folder = temporaryFolder();
    const ca = await makeCertificate({ commonName: "consul" });
    const write = async (name: string) => {
      const { pem, keyPem } = await makeCertificate({ by: ca, isCa: false, commonName: name, hosts: ["127.0.0.1"] });
      return { certificate: folder.write(`${name}.crt`, pem), key: folder.write(`${name}.key`, keyPem) };
    };
    const roots = folder.write("ca.crt", ca.pem);
    await using consul = await startConsul({ tls: { ca: roots, ...(await write("server")) } });
    await consul.register(web());
    const client = await write("client");
    const known = await connect(consul, { url: consul.tlsUrl, tlsFiles: { ca: roots, ...client } });
    await using _known = known.server;
    expect(known.endpoints("web")).toEqual(["10.0.0.1 Healthy"]);
    await write("client");
    await consul.register(web({ ID: "web-2", Address: "10.0.0.2", Check: undefined }));
    await until(() => expect(known.endpoints("web")).toHaveLength(2));
    const unknown = await connect(consul, { url: consul.tlsUrl, tlsFiles: { ca: roots } });
    await using _unknown = unknown.server;
    expect(unknown.endpoints("web")).toEqual([]);
    expect(unknown.server.log.text()).toMatch(/Consul at 127\.0\.0\.1:\d+: .*certificate required/i);
  });

  test("holds rule objects below a key; a bad value leaves its objects in force, a deleted key takes them away", async () => {
    await using consul = await startConsul();
    const entry = (host: string) =>
      JSON.stringify({
        apiVersion: "networking.istio.io/v1",
        kind: "ServiceEntry",
        metadata: { name: "outside", namespace: "prod" },
        spec: { hosts: [host], ports: [{ number: 443, name: "https", protocol: "HTTPS" }], resolution: "DNS" },
      });
    await consul.put("istio/config/outside.yaml", entry("one.example"));
    const { server } = await connect(consul);
    await using _ = server;
    const hosts = () =>
      server.discovery.snapshot.services.filter(({ name }) => name === "outside").map(({ hostname }) => hostname);
    expect(hosts()).toEqual(["one.example"]);
    await consul.put("istio/config/outside.yaml", entry("two.example"));
    await until(() => expect(hosts()).toEqual(["two.example"]));
    await consul.put("istio/config/outside.yaml", "kind: [");
    await until(() => expect(server.log.text()).toContain("consul:istio/config/outside.yaml"));
    expect(hosts()).toEqual(["two.example"]);
    await consul.remove("istio/config/outside.yaml");
    await until(() => expect(hosts()).toEqual([]));
  });

  test("with a thousand services is read by a few connections, and one change among them counts", async () => {
    await using consul = await startConsul();
    const names = Array.from({ length: 1000 }, (_, index) => `s${index}`);
    const register = (name: string, address: string) =>
      consul.ask("PUT", "/v1/catalog/register", {
        Node: "far",
        Address: "10.9.9.9",
        Service: { Service: name, Address: address, Port: 80, Meta: { protocol: "http" } },
      });
    for (let at = 0; at < names.length; at += 50)
      await Promise.all(names.slice(at, at + 50).map((name) => register(name, "10.0.0.1")));
    // Between the two, to see what is asked.
    const asked: string[] = [];
    await using front = await startHttpServer(async (request, response) => {
      asked.push(request.url ?? "");
      try {
        const answer = await fetch(`${consul.url}${request.url}`);
        const index = answer.headers.get("x-consul-index") ?? "";
        response.writeHead(answer.status, { "x-consul-index": index }).end(await answer.text());
      } catch {
        response.destroy();
      }
    });
    const { server, services, endpoints } = await connect(consul, { url: front.url });
    await using _ = server;
    await until(() => expect(services().length).toBeGreaterThanOrEqual(1000));
    asked.length = 0;
    await register("s500", "10.0.0.5");
    await until(() => expect(endpoints("s500")).toEqual(["10.0.0.5 Healthy"]));
    // Of the others it is enough to know that they have not changed.
    const read = asked.filter((path) => path.startsWith("/v1/health/service/") && !path.includes("filter="));
    expect(new Set(read.map((path) => path.split("?")[0]))).toEqual(new Set(["/v1/health/service/s500"]));
    const compared = asked.filter((path) => path.includes("filter="));
    expect(compared.length).toBeGreaterThan(0);
    expect(compared.length).toBeLessThanOrEqual(services().length);
  });
});
