import { CloseStack } from "../base/close-stack.ts";
import { type Handle, toHandle } from "../base/handle.ts";
import { startGrpcServer } from "../grpc/index.ts";
import type { ListenAddress, ListenOptions } from "../net/listen/listen.ts";
import { type Authenticator, clientCertificateAuthenticator } from "./authenticators/authenticator.ts";
import { createJwtAuthenticator, type JwtRule } from "./authenticators/jwt.ts";
import { type Authority, type AuthorityOptions, startAuthority } from "./authority.ts";
import { certificateService } from "./certificate-service.ts";
import type { CaServerMetrics } from "./metrics.ts";
import { createServerTls } from "./server-credentials.ts";

export interface CaServerOptions extends AuthorityOptions {
  readonly listen: ListenOptions;
  /** DNS names and addresses for the server's own certificate. */
  readonly hosts: readonly string[];
  readonly metrics: CaServerMetrics;
  /** Issuers of tokens to accept, after client certificates. */
  readonly jwtRules?: readonly JwtRule[];
  /** Tried last. */
  readonly furtherAuthenticators?: readonly Authenticator[];
}

export interface CaServer extends Handle {
  readonly address: ListenAddress;
  readonly authority: Authority;
}

/** A certificate authority on a TLS port of its own. A control plane mounts `certificateService` on its own server instead. */
export async function startCaServer(options: CaServerOptions): Promise<CaServer> {
  await using opened = new CloseStack();
  const { log, metrics, trustDomain } = options;
  const authority = opened.add(await startAuthority(options));
  metrics.setExpirySource(() => ({
    root: authority.material.roots[0]?.notAfter,
    chain: authority.material.chainHead?.notAfter,
  }));
  const tokens = (options.jwtRules ?? []).map((rule) =>
    createJwtAuthenticator({ rule, trustDomain: () => trustDomain }),
  );
  const authenticators = [
    clientCertificateAuthenticator(),
    ...(await Promise.all(tokens)),
    ...(options.furtherAuthenticators ?? []),
  ];
  const tls = createServerTls({ authority, hosts: options.hosts, trustDomain: trustDomain.replaceAll("@", ".") });
  // Making the server's key takes a while: done before the port is open, no client waits for it.
  await tls();
  const server = opened.add(
    await startGrpcServer({
      listen: options.listen,
      tls,
      log,
      methods: [certificateService({ authority, authenticators, metrics, log })],
      // A CSR is a few kilobytes.
      maxReceiveBytes: 256 * 1024,
    }),
  );
  const owned = opened.move();
  return toHandle({ address: server.address, authority, ended: server.ended, stop: () => owned.close() });
}
