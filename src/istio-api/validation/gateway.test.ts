import { expect, test } from "vitest";
import { formatPath } from "../../protobuf/json/read-message.ts";
import { decodeObject } from "../decode/decode-object.ts";

function problemsOf(spec: unknown, name = "edge"): readonly string[] {
  const document = { apiVersion: "networking.istio.io/v1", kind: "Gateway", metadata: { name, namespace: "ns" }, spec };
  return decodeObject(document, { defaultNamespace: "default" }).problems.map(
    ({ path, message, severity }) =>
      `${severity === "warning" ? "? " : ""}${formatPath(path).replace(/^spec\.?/, "")}: ${message}`,
  );
}

const HTTP = { port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["a.example"] };
const HTTPS = { port: { number: 443, name: "https", protocol: "HTTPS" }, hosts: ["a.example"] };
const FILES = { serverCertificate: "/c", privateKey: "/k" };
const plain = (more: object) => ({ servers: [{ ...HTTP, ...more }] });
const tls = (settings: object) => ({ servers: [{ ...HTTPS, tls: settings }] });

test.each<{ spec: unknown; says: readonly string[] }>([
  { spec: { selector: { app: "edge" }, servers: [HTTP, { ...HTTPS, tls: { mode: "SIMPLE", ...FILES } }] }, says: [] },
  { spec: plain({ hosts: ["*", "*.example", "ns/a.example", "./b.example", "*/c.example"] }), says: [] },
  { spec: plain({ tls: { httpsRedirect: true } }), says: [] },
  { spec: plain({ bind: "10.0.0.1" }), says: [] },
  { spec: {}, says: ["servers: gateway must have at least one server"] },
  { spec: plain({ hosts: [] }), says: ["servers[0].hosts: server config must contain at least one host"] },
  {
    spec: plain({ hosts: ["a/b/c"] }),
    says: ['servers[0].hosts[0]: invalid host "a/b/c"; allowed: host, namespace/host'],
  },
  {
    spec: plain({ hosts: ["A_b/c.example"] }),
    says: ['servers[0].hosts[0]: invalid namespace "A_b" in host "A_b/c.example"; allowed: a name, * or .'],
  },
  {
    spec: plain({ bind: "eth0" }),
    says: ['servers[0].bind: invalid bind "eth0"; allowed: an IP address or unix://path'],
  },
  { spec: { servers: [{ hosts: ["*"] }] }, says: ["servers[0]: port is required"] },
  {
    spec: plain({ port: { number: 0, name: "", protocol: "HTTP", targetPort: 8080 } }),
    says: [
      "servers[0].port.number: port number 0 must be in the range 1..65535",
      "servers[0].port.targetPort: targetPort has no impact on Gateways",
      "servers[0].port.name: port name must be set",
    ],
  },
  {
    spec: { servers: [HTTP, { ...HTTP, hosts: ["b.example"] }] },
    says: ["servers[1].port.name: port names in servers must be unique: duplicate name http"],
  },
  { spec: { servers: [HTTPS] }, says: ["servers[0]: server must have TLS settings for HTTPS/TLS protocols"] },
  {
    spec: plain({ tls: { mode: "SIMPLE", credentialName: "c" } }),
    says: ["servers[0].tls: server cannot have TLS settings for plain text HTTP ports"],
  },
  {
    spec: { servers: [{ port: { number: 1, name: "t", protocol: "TCP" }, hosts: ["*"], tls: {} }] },
    says: ["servers[0].tls: server cannot have TLS settings for non HTTPS/TLS ports"],
  },
  {
    spec: tls({ mode: "PASSTHROUGH", httpsRedirect: true }),
    says: ["? servers[0].tls.httpsRedirect: tls.httpsRedirect should only be used with http servers"],
  },
  {
    spec: tls({ mode: "SIMPLE" }),
    says: [
      "servers[0].tls.serverCertificate: SIMPLE TLS requires a server certificate",
      "servers[0].tls.privateKey: SIMPLE TLS requires a private key",
    ],
  },
  {
    spec: tls({ mode: "MUTUAL", ...FILES }),
    says: ["servers[0].tls.caCertificates: MUTUAL TLS requires a client CA bundle"],
  },
  { spec: tls({ mode: "MUTUAL", credentialName: "c" }), says: [] },
  { spec: tls({ mode: "OPTIONAL_MUTUAL", credentialNames: ["c", "d"] }), says: [] },
  {
    spec: tls({ mode: "SIMPLE", credentialName: "c", ...FILES }),
    says: [
      "servers[0].tls: only one of credential_name, credential_names, server_certificate/private_key, tls_certificates should be specified",
    ],
  },
  {
    spec: tls({ mode: "SIMPLE", ...FILES, caCrl: "/crl" }),
    says: ["servers[0].tls.caCrl: CRL is not supported with SIMPLE TLS"],
  },
  {
    spec: tls({ mode: "MUTUAL", credentialName: "c", caCrl: "/crl" }),
    says: ["servers[0].tls.caCrl: CRL is not supported with credentialName. CRL has to be specified in the credential"],
  },
  {
    spec: tls({ mode: "SIMPLE", tlsCertificates: [FILES, { serverCertificate: "/c" }, FILES] }),
    says: [
      "? servers[0].tls.tlsCertificates: SIMPLE TLS can support up to 2 server certificates",
      "servers[0].tls.tlsCertificates[1].privateKey: SIMPLE TLS requires a private key",
    ],
  },
  {
    spec: tls({ mode: "ISTIO_MUTUAL", ...FILES }),
    says: [
      "servers[0].tls.serverCertificate: ISTIO_MUTUAL TLS cannot have associated server certificate",
      "servers[0].tls.privateKey: ISTIO_MUTUAL TLS cannot have associated private key",
    ],
  },
  {
    spec: tls({ mode: "AUTO_PASSTHROUGH", ...FILES }),
    says: ["? servers[0].tls.mode: AUTO_PASSTHROUGH mode does not use certificates, they will be ignored"],
  },
  {
    spec: tls({ mode: "SIMPLE", credentialName: "c", minProtocolVersion: "TLSV1_0" }),
    says: ["? servers[0].tls.minProtocolVersion: TLS version below TLSV1_2 require setting compatible ciphers"],
  },
])("$says", ({ spec, says }) => {
  expect(problemsOf(spec)).toEqual(says);
});

test("a name with dots could not be distinguished from an old full name", () => {
  expect(problemsOf({ servers: [HTTP] }, "a.b")).toEqual([': invalid gateway name: "a.b"']);
});
