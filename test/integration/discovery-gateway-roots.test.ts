import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { beforeEach, expect, test } from "vitest";
import { openssl } from "../support/certs/openssl.ts";
import { type CertifiedKey, makeLeaf, selfSignedCertificate } from "../support/certs/openssl-certificates.ts";
import { createTestCa } from "../support/certs/test-ca.ts";
import { tlsGateway, tlsSecret } from "../support/discovery/gateway.ts";
import { startDiscoveryServer } from "../support/discovery/server.ts";
import { runGatewayOf } from "../support/envoy/gateway-envoy.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { needs } from "../support/needs.ts";
import { freePorts } from "../support/net/free-ports.ts";
import { startAnySecrets } from "../support/sds/any-secrets.ts";
import { until } from "../support/wait/until.ts";

beforeEach(needs("envoy", "openssl"));

const yaml = (...objects: readonly object[]) => objects.map((object) => JSON.stringify(object)).join("\n---\n");

/** A revocation list of the CA, by openssl, with these certificates in it. */
function revocationList(ca: CertifiedKey, revoked: readonly string[]): string {
  using folder = temporaryFolder();
  const line = (pem: string) =>
    `R\t491231235959Z\t200101000000Z\t${new X509Certificate(pem).serialNumber}\tunknown\t/O=x\n`;
  const database = folder.write("index.txt", revoked.map(line).join(""));
  const config = folder.write("ca.conf", `[ca]\ndefault_ca=it\n[it]\ndatabase=${database}\ndefault_md=sha256\n`);
  return openssl(["ca", "-gencrl", "-config", config, "-crldays", "2", "-cert", "@ca.crt", "-keyfile", "@ca.key"], {
    "ca.crt": ca.cert,
    "ca.key": ca.key,
  });
}

test("roots for clients come from the Secret NAME-cacert, and whom its revocation list names is refused from then on", async () => {
  const [ca, clients] = [await createTestCa(), selfSignedCertificate("clients")];
  const [port = 0] = await freePorts(1);
  const [first, second] = [
    makeLeaf(clients, "first", "DNS:first.example"),
    makeLeaf(clients, "second", "DNS:second.example"),
  ];
  const stranger = await ca.pair(["stranger.example"]);
  const gateway = tlsGateway("edge", port, { "a.example": "a" });
  const [only] = gateway.spec.servers;
  if (only !== undefined) only.tls.mode = "MUTUAL";
  const rule = {
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name: "answer", namespace: "edge" },
    spec: { hosts: ["*"], gateways: ["gateway"], http: [{ directResponse: { status: 200 } }] },
  };
  const roots = (revoked: readonly string[]) => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "a-cacert", namespace: "edge" },
    stringData: { "ca.crt": clients.cert, "ca.crl": revocationList(clients, revoked) },
  });
  const pair = tlsSecret("edge", "a", await ca.pair(["a.example"]));
  // Roots beside the key pair count only where there is no Secret for roots alone.
  const withOwnRoots = { ...pair, data: { ...pair.data, "ca.crt": Buffer.from(ca.rootPem).toString("base64") } };
  await using server = await startDiscoveryServer({
    files: {
      "rules.yaml": yaml(gateway, rule, withOwnRoots),
      "roots.yaml": yaml(roots([])),
    },
  });
  using folder = temporaryFolder();
  await using _agent = await startAnySecrets(folder.file("sds"));
  await using envoy = await runGatewayOf(server, {
    sdsPath: folder.file("sds"),
    namespace: "edge",
    protocol: "sotw",
  });
  const call = async (pair?: { readonly cert: string; readonly key: string }): Promise<number | undefined> => {
    const where = { host: "127.0.0.1", port, servername: "a.example", headers: { host: "a.example" } };
    const outgoing = request({ ...where, ca: ca.rootPem, agent: false, ...pair }).end();
    const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
    answer.resume();
    return answer.statusCode;
  };
  await until("a client of the roots is let in", async () => (await call(first)) === 200);
  expect(await call(second)).toBe(200);
  await expect(call()).rejects.toThrow();
  await expect(call(stranger)).rejects.toThrow();
  server.write("roots.yaml", yaml(roots([first.cert])));
  await until("the revoked one is refused", () =>
    call(first).then(
      () => false,
      () => true,
    ),
  );
  expect(await call(second)).toBe(200);
  expect(await envoy.rejections()).toEqual([]);
});
