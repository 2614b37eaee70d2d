import { request } from "node:https";
import type { PeerCertificate, TLSSocket } from "node:tls";

export interface TlsClient {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** One request on a connection of its own; resolves to the certificate the server showed. */
export function requestCertificate(port: number, client: TlsClient): Promise<PeerCertificate> {
  return new Promise((resolve, reject) => {
    const options = {
      host: "127.0.0.1",
      port,
      path: "/",
      agent: false,
      timeout: 20_000,
      checkServerIdentity: () => undefined,
    };
    const outgoing = request({ ...options, ...client }, (response) => {
      const certificate = (response.socket as TLSSocket).getPeerCertificate();
      response.resume();
      response.once("end", () =>
        response.statusCode === 200
          ? resolve(certificate)
          : reject(Object.assign(new Error(`status ${response.statusCode}`), { code: "unexpected-status" })),
      );
    });
    outgoing.once("timeout", () =>
      outgoing.destroy(Object.assign(new Error("no answer within 20 s"), { code: "no-answer" })),
    );
    outgoing.once("error", reject);
    outgoing.end();
  });
}
