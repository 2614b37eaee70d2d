import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer, type EphemeralKeyInfo } from "node:tls";
import { expect, test } from "vitest";
import { selfSignedCertificate } from "../../../test/support/certs/openssl-certificates.ts";
import { tlsCredentials } from "./connection-material.ts";

const pair = selfSignedCertificate();
const material = { roots: pair.cert, client: undefined, fingerprint: "" };

test.each([
  { limits: undefined, protocol: "TLSv1.3", curve: "X25519" },
  { limits: { minVersion: "TLSv1.3", ecdhCurve: "P-384" }, protocol: "TLSv1.3", curve: "secp384r1" },
  { limits: { maxVersion: "TLSv1.2", ecdhCurve: "P-256" }, protocol: "TLSv1.2", curve: "prime256v1" },
  { limits: { maxVersion: "TLSv1.2" }, protocol: "TLSv1.2", curve: "X25519" },
] as const)("with the limits $limits the CA is spoken to with $protocol and $curve", async ({ limits, ...wanted }) => {
  const server = createServer({ ...pair, ecdhCurve: "X25519:P-256:P-384" }, (socket) =>
    socket.on("error", () => undefined),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { serverName: _name, ...options } = tlsCredentials(material, "istiod", limits);
  const { port } = server.address() as AddressInfo;
  const socket = connect({ ...options, port, host: "127.0.0.1", checkServerIdentity: () => undefined });
  try {
    await once(socket, "secureConnect");
    const { name } = socket.getEphemeralKeyInfo() as EphemeralKeyInfo;
    expect({ protocol: socket.getProtocol(), curve: name }).toEqual(wanted);
  } finally {
    socket.destroy();
    server.close();
  }
});
