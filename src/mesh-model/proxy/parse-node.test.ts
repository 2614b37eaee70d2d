import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { NodeError, parseNode } from "./parse-node.ts";
import type { ProxyNode } from "./proxy-node.ts";

const ID = "sidecar~10.0.0.1~web-7d9.prod~prod.svc.cluster.local";

function refusal(node: Parameters<typeof parseNode>[0]): { code: string; message: string } {
  try {
    parseNode(node);
  } catch (thrown) {
    if (thrown instanceof NodeError) return { code: thrown.code, message: thrown.message };
    throw thrown;
  }
  throw new Error("the node was taken");
}

describe("a node that cannot be served", () => {
  test.each([
    { is: "absent", node: undefined, code: "missing-node", says: "missing node information" },
    { is: "without id", node: {}, code: "missing-node", says: "missing node information" },
    { is: "with an empty id", node: { id: "" }, code: "missing-node", says: "missing node information" },
    { is: "of three parts", node: { id: "sidecar~10.0.0.1~web" }, code: "missing-parts", says: "missing parts" },
    { is: "of five parts", node: { id: `${ID}~x` }, code: "missing-parts", says: "missing parts in the service node" },
    { is: "of an unknown type", node: { id: ID.replace("sidecar", "boat") }, code: "invalid-type", says: "boat" },
    {
      is: "of a type without part here",
      node: { id: ID.replace("sidecar", "ztunnel") },
      code: "invalid-type",
      says: "ztunnel",
    },
    {
      is: "without type",
      node: { id: "~10.0.0.1~a~b" },
      code: "invalid-type",
      says: "invalid node type (valid types: [sidecar router])",
    },
    {
      is: "without address",
      node: { id: ID.replace("10.0.0.1", "host") },
      code: "no-address",
      says: "no valid IP address in the service node id or metadata",
    },
  ])("$is is refused with $code", ({ node, code, says }) => {
    const { code: given, message } = refusal(node);
    expect(given).toBe(code);
    expect(message).toContain(says);
  });
});

describe("what a node says of itself", () => {
  test("an id alone is enough: everything else has a default", () => {
    expect(parseNode({ id: ID })).toEqual({
      nodeId: ID,
      type: "sidecar",
      id: "web-7d9.prod",
      addresses: ["10.0.0.1"],
      ipv4: true,
      ipv6: false,
      dnsDomain: "prod.svc.cluster.local",
      namespace: "prod",
      serviceAccount: "",
      serviceCluster: "",
      labels: {},
      locality: { region: "", zone: "", subzone: "" },
      clusterId: "",
      network: "",
      interception: "REDIRECT",
      generator: "",
      dnsCapture: false,
      dnsAutoAllocate: false,
      httpProxyPort: 0,
      unprivileged: false,
      listening: {
        http10: false,
        idleTimeout: "",
        staticPorts: [15021, 15090],
        outboundBalance: false,
        inboundBalance: false,
      },
      networkView: [],
      istioVersion: "",
      metadata: {},
    });
  });

  test.each<{ metadata: object; listening: Partial<ProxyNode["listening"]> }>([
    { metadata: { HTTP10: "1" }, listening: { http10: true } },
    { metadata: { HTTP10: "true" }, listening: { http10: false } },
    { metadata: { IDLE_TIMEOUT: "1m30s" }, listening: { idleTimeout: "90s" } },
    { metadata: { IDLE_TIMEOUT: "soon" }, listening: { idleTimeout: "" } },
    { metadata: { ENVOY_STATUS_PORT: 15021, ENVOY_PROMETHEUS_PORT: 9 }, listening: { staticPorts: [15021, 9] } },
    { metadata: { OUTBOUND_LISTENER_EXACT_BALANCE: "true" }, listening: { outboundBalance: true } },
    { metadata: { INBOUND_LISTENER_EXACT_BALANCE: "true" }, listening: { inboundBalance: true } },
    { metadata: { PROXY_CONFIG: {} }, listening: { headers: {} } },
    {
      metadata: { PROXY_CONFIG: { proxyHeaders: { server: { value: "x" } } } },
      listening: { headers: { server: { value: "x" } } },
    },
  ])("$metadata decides on listeners: $listening", ({ metadata, listening }) => {
    expect(parseNode({ id: ID, metadata }).listening).toMatchObject(listening);
  });

  test("networks to be shown and the case of headers are taken from where agents write them", () => {
    const headers = (proxyHeaders?: object) =>
      parseNode({ id: ID, metadata: { PROXY_CONFIG: { proxyHeaders }, REQUESTED_NETWORK_VIEW: "a,b" } });
    expect(headers().networkView).toEqual(["a", "b"]);
    expect(headers({ preserveHttp1HeaderCase: true }).preservesHeaderCase).toBe(true);
    expect(headers({}).preservesHeaderCase).toBe(false);
  });

  test.each([
    { listed: "10.0.0.2,fd00::2", addresses: ["10.0.0.2", "fd00::2"], ipv4: true, ipv6: true },
    { listed: "fd00::2", addresses: ["fd00::2"], ipv4: false, ipv6: true },
    { listed: "10.0.0.2,nonsense", addresses: ["10.0.0.1"], ipv4: true, ipv6: false },
    { listed: "", addresses: ["10.0.0.1"], ipv4: true, ipv6: false },
    { listed: 7, addresses: ["10.0.0.1"], ipv4: true, ipv6: false },
  ])("INSTANCE_IPS $listed gives $addresses", ({ listed, ...expected }) => {
    expect(parseNode({ id: ID, metadata: { INSTANCE_IPS: listed } })).toMatchObject(expected);
  });

  test.each([
    { metadata: { NAMESPACE: "other" }, id: ID, namespace: "other" },
    { metadata: {}, id: ID, namespace: "prod" },
    { metadata: { NAMESPACE: ["x"] }, id: ID, namespace: "prod" },
    { metadata: {}, id: "sidecar~10.0.0.1~web~local", namespace: "" },
  ])("$metadata with $id belongs to namespace $namespace", ({ metadata, id, namespace }) => {
    expect(parseNode({ id, metadata }).namespace).toBe(namespace);
  });

  test("metadata may be text or plain values", () => {
    const texts = { DNS_CAPTURE: "true", DNS_AUTO_ALLOCATE: "1", HTTP_PROXY_PORT: "15002", UNPRIVILEGED_POD: "true" };
    const values = { DNS_CAPTURE: true, DNS_AUTO_ALLOCATE: true, HTTP_PROXY_PORT: 15002, UNPRIVILEGED_POD: true };
    const expected = { dnsCapture: true, dnsAutoAllocate: true, httpProxyPort: 15002, unprivileged: true };
    expect(parseNode({ id: ID, metadata: texts })).toMatchObject(expected);
    expect(parseNode({ id: ID, metadata: values })).toMatchObject(expected);
    const wrong = { DNS_CAPTURE: "yes", HTTP_PROXY_PORT: "70000", INTERCEPTION_MODE: "SOMEHOW", LABELS: ["a"] };
    const ignored = { dnsCapture: false, httpProxyPort: 0, interception: "REDIRECT", labels: {} };
    expect(parseNode({ id: ID, metadata: wrong })).toMatchObject(ignored);
  });

  test.each([
    { locality: { region: "r", zone: "z", subZone: "s" }, labels: {}, is: { region: "r", zone: "z", subzone: "s" } },
    { locality: { region: "r" }, labels: { "istio-locality": "x.y.z" }, is: { region: "x", zone: "y", subzone: "z" } },
    {
      locality: { region: "r", zone: "z" },
      labels: { "topology.kubernetes.io/zone": "own", "istio-locality": "x.y.z" },
      is: { region: "", zone: "own", subzone: "" },
    },
    { locality: {}, labels: { "istio-locality": "x.y.z" }, is: { region: "x", zone: "y", subzone: "z" } },
    {
      locality: undefined,
      labels: { "topology.istio.io/locality": "x/y.1" },
      is: { region: "x", zone: "y.1", subzone: "" },
    },
    {
      locality: undefined,
      labels: { "topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": "z" },
      is: { region: "r", zone: "z", subzone: "" },
    },
  ])("locality $locality with labels $labels is $is", ({ locality, labels, is }) => {
    expect(parseNode({ id: ID, locality, metadata: { LABELS: labels } }).locality).toEqual(is);
  });

  test("files for TLS are taken when at least one is named; clusters may have another name here", () => {
    const metadata = { TLS_CLIENT_CERT_CHAIN: "/c.pem", TLS_CLIENT_KEY: "/k.pem", CLUSTER_ID: "east" };
    const node = parseNode({ id: ID, metadata }, new Map([["east", "Kubernetes"]]));
    expect(node.clientTls).toEqual({ certificateChain: "/c.pem", privateKey: "/k.pem", rootCertificate: "" });
    expect(node).not.toHaveProperty("serverTls");
    expect(node.clusterId).toBe("Kubernetes");
  });
});

test("whatever a client sends is a node or a refusal, and a node has what it needs", () => {
  const part = fc.oneof(fc.string(), fc.constantFrom("sidecar", "router", "10.0.0.1", "a.b", "a.b.svc.c"));
  const id = fc.oneof(
    fc.string(),
    fc.array(part, { minLength: 4, maxLength: 4 }).map((parts) => parts.join("~")),
  );
  const name = fc.constantFrom("INSTANCE_IPS", "NAMESPACE", "LABELS", "INTERCEPTION_MODE", "HTTP_PROXY_PORT", "x");
  const metadata = fc.oneof(fc.jsonValue(), fc.dictionary(name, fc.jsonValue()));
  fc.assert(
    fc.property(id, metadata, fc.jsonValue(), (nodeId, data, locality) => {
      try {
        const node = parseNode({ id: nodeId, metadata: data, locality });
        expect(node.addresses.length).toBeGreaterThan(0);
        expect(node.ipv4 || node.ipv6).toBe(true);
        expect(Object.values(node.labels).every((label) => typeof label === "string")).toBe(true);
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(NodeError);
      }
    }),
  );
});
