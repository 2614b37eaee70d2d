import { expect, test } from "vitest";
import { policyOf } from "../../../test/support/discovery/policy.ts";
import type { TransportSocket } from "../../protobuf/gen/envoy/config/core/v3.ts";
import type { UpstreamTlsContext } from "../../protobuf/gen/envoy/extensions/transport_sockets/tls/v3.ts";
import { clientTransport, type TransportTarget } from "./upstream-tls.ts";

const IDENTITY = "spiffe://cluster.local/ns/default/sa/web";
const target: TransportTarget = {
  policy: {},
  protocol: "HTTP",
  upstream: "http1",
  sni: "outbound_.80_._.web",
  identities: [IDENTITY],
  autoMtls: "where-possible",
};
const withPolicy = (policy: string, more: Partial<TransportTarget> = {}) =>
  clientTransport({ ...target, ...more, policy: policyOf(policy) });

/** Name of the socket and what matters inside it. */
function described(socket: TransportSocket | undefined) {
  const context = socket?.typedConfig as (UpstreamTlsContext & { transportSocket?: TransportSocket }) | undefined;
  const common = context?.commonTlsContext;
  const combined = common?.combinedValidationContext;
  return {
    name: socket?.name?.replace("envoy.transport_sockets.", ""),
    sni: context?.sni,
    alpn: common?.alpnProtocols,
    certificate: common?.tlsCertificateSdsSecretConfigs?.[0]?.name,
    root: combined?.validationContextSdsSecretConfig?.name,
    sans: combined?.defaultValidationContext?.matchTypedSubjectAltNames?.map(({ matcher }) => matcher?.exact),
  };
}

const MESH = {
  name: "tls",
  sni: "outbound_.80_._.web",
  alpn: ["istio-http/1.1", "istio", "http/1.1"],
  certificate: "default",
  root: "ROOTCA",
  sans: [IDENTITY],
};

test("where no rule speaks, endpoints that can have mutual TLS get it and others plaintext", () => {
  const { sockets, http } = clientTransport(target);
  const [first, second] = sockets.transportSocketMatches ?? [];
  expect([first?.name, first?.match, described(first?.transportSocket)]).toEqual([
    "tlsMode-istio",
    { tlsMode: "istio" },
    MESH,
  ]);
  expect([second?.name, second?.match, second?.transportSocket?.name]).toEqual(["tlsMode-disabled", {}, "raw_buffer"]);
  expect([sockets.transportSocket, http]).toEqual([undefined, undefined]);
});

test.each([
  { protocol: "HTTP", upstream: "http1", alpn: ["istio-http/1.1", "istio", "http/1.1"] },
  { protocol: "HTTP", upstream: "http2", alpn: ["istio-h2", "istio", "h2"] },
  { protocol: "GRPC", upstream: "http2", alpn: ["istio-h2", "istio", "h2"] },
  { protocol: "HTTP", upstream: "downstream", alpn: ["istio"] },
  { protocol: "Unsupported", upstream: "downstream", alpn: ["istio"] },
  { protocol: "TCP", upstream: "http1", alpn: ["istio"] },
  { protocol: "HTTPS", upstream: "http1", alpn: ["istio"] },
] as const)("a workload calling $protocol by $upstream offers $alpn", ({ alpn, ...more }) => {
  const { sockets } = clientTransport({ ...target, ...more });
  expect(described(sockets.transportSocketMatches?.[0]?.transportSocket).alpn).toEqual(alpn);
});

test.each([
  { autoMtls: "never", name: undefined },
  { autoMtls: "always", name: "tls" },
] as const)("automatic mutual TLS $autoMtls gives the socket $name to all endpoints", ({ autoMtls, name }) => {
  const { sockets } = clientTransport({ ...target, autoMtls });
  expect(sockets.transportSocketMatches).toBeUndefined();
  expect(described(sockets.transportSocket).name).toBe(name);
});

const SIMPLE = { name: "tls", root: "file-root:system", sans: [IDENTITY] };
const OWN_HOST = { autoSni: true, autoSanValidation: true };

test.each([
  { tls: "{mode: DISABLE}", gives: {}, http: undefined },
  { tls: "{mode: SIMPLE}", gives: SIMPLE, http: OWN_HOST },
  { tls: "{mode: SIMPLE, sni: x.example}", gives: { ...SIMPLE, sni: "x.example" }, http: undefined },
  {
    tls: "{mode: SIMPLE, subjectAltNames: [x.example]}",
    gives: { ...SIMPLE, sans: ["x.example"] },
    http: { autoSni: true },
  },
  { tls: "{mode: SIMPLE, caCertificates: /ca.pem}", gives: { ...SIMPLE, root: "file-root:/ca.pem" }, http: OWN_HOST },
  {
    tls: "{mode: SIMPLE, insecureSkipVerify: true}",
    gives: { name: "tls" },
    http: { autoSni: true },
  },
  {
    tls: "{mode: MUTUAL, clientCertificate: /c.pem, privateKey: /k.pem}",
    gives: { ...SIMPLE, certificate: "file-cert:/c.pem~/k.pem" },
    http: OWN_HOST,
  },
  { tls: "{mode: ISTIO_MUTUAL}", gives: MESH, http: undefined },
  {
    tls: "{mode: ISTIO_MUTUAL, sni: x.example, subjectAltNames: [spiffe://cluster.local/ns/a/sa/b]}",
    gives: { ...MESH, sni: "x.example", sans: ["spiffe://cluster.local/ns/a/sa/b"] },
    http: undefined,
  },
])("tls $tls is one socket for all endpoints: $gives", ({ tls, gives, http }) => {
  const transport = withPolicy(`{tls: ${tls}}`);
  expect(transport.sockets.transportSocketMatches).toBeUndefined();
  expect(described(transport.sockets.transportSocket)).toEqual({ ...described(undefined), ...gives });
  expect(transport.http).toEqual(http);
});

test("TLS to servers outside the mesh offers h2 where h2 is spoken, and nothing else", () => {
  const { sockets } = withPolicy("{tls: {mode: SIMPLE}}", { upstream: "http2" });
  expect(described(sockets.transportSocket).alpn).toEqual(["h2"]);
});

test("a list of revoked certificates goes with the roots", () => {
  const { sockets } = withPolicy("{tls: {mode: SIMPLE, caCertificates: /ca.pem, caCrl: /crl.pem}}");
  const context = sockets.transportSocket?.typedConfig as UpstreamTlsContext | undefined;
  expect(context?.commonTlsContext?.combinedValidationContext?.defaultValidationContext?.crl).toEqual({
    filename: "/crl.pem",
  });
});

test("a credential that a sidecar cannot have is not a reason for plaintext: no certificate is accepted", () => {
  const { sockets, http } = withPolicy("{tls: {mode: SIMPLE, credentialName: some-secret}}");
  const context = sockets.transportSocket?.typedConfig as UpstreamTlsContext | undefined;
  expect(sockets.transportSocket?.name).toBe("envoy.transport_sockets.tls");
  expect(context?.commonTlsContext?.validationContext).toEqual({ verifyCertificateHash: ["0".repeat(64)] });
  expect(http).toBeUndefined();
});

test("a server name that is too long for TLS is left out", () => {
  const { sockets } = clientTransport({ ...target, autoMtls: "always", sni: "x".repeat(256) });
  expect(described(sockets.transportSocket).sni).toBeUndefined();
});

test("files of the proxy take the place of the agent's secrets", () => {
  const files = { certificateChain: "/c.pem", privateKey: "/k.pem", rootCertificate: "/r.pem" };
  const { sockets } = withPolicy("{tls: {mode: ISTIO_MUTUAL}}", { files });
  expect(described(sockets.transportSocket)).toMatchObject({
    certificate: "file-cert:/c.pem~/k.pem",
    root: "file-root:/r.pem",
  });
});

const WRAPPED = "envoy.transport_sockets.upstream_proxy_protocol";

test.each([
  { policy: "{proxyProtocol: {version: V2}, tls: {mode: DISABLE}}", inner: "raw_buffer" },
  { policy: "{proxyProtocol: {version: V2}, tls: {mode: SIMPLE}}", inner: "envoy.transport_sockets.tls" },
])("$policy tells the client's address around $inner", ({ policy, inner }) => {
  const { sockets } = withPolicy(policy);
  expect(sockets.transportSocket).toMatchObject({
    name: WRAPPED,
    typedConfig: { config: { version: "V2" }, transportSocket: { name: inner } },
  });
});

test("each of several sockets tells the client's address", () => {
  const { sockets } = withPolicy("{proxyProtocol: {version: V1}}");
  expect(sockets.transportSocketMatches).toMatchObject([
    { transportSocket: { name: WRAPPED, typedConfig: { transportSocket: { name: "envoy.transport_sockets.tls" } } } },
    { transportSocket: { name: WRAPPED, typedConfig: { config: { version: "V1" } } } },
  ]);
});
