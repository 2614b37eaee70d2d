import type { DetailedPeerCertificate, TLSSocket } from "node:tls";
import type { ServerCredentials, ServerTls } from "../net/listen/tls-acceptor.ts";
import { type Certificate, parseCertificate } from "../protocol/x509/certificate.ts";
import { encodePem, parsePemCertificates } from "../protocol/x509/pem.ts";
import { parseSpiffeId } from "../protocol/x509/spiffe-id.ts";
import { verifyChain } from "../protocol/x509/verify-chain.ts";
import type { Authority } from "./authority.ts";

export interface ServerCredentialsOptions {
  readonly authority: Pick<Authority, "material" | "issueServer" | "onChange">;
  /** DNS names and addresses of the server. */
  readonly hosts: readonly string[];
  /** A function gives all those whose identities the CA's roots vouch for, and is asked for every client: a mesh may rename itself. */
  readonly trustDomain: string | (() => readonly string[]);
  /** Roots of further trust domains whose workloads may show their certificates. */
  readonly furtherPools?: RootPools;
  readonly now?: () => Date;
}

interface Issued {
  readonly credentials: ServerCredentials;
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** Renewed before its end with this much to spare; one that lives shorter than twice that, at half its life. */
const RENEW_BEFORE_MS = 60 * 60_000;

/**
 * TLS for a port of the process that runs the CA: a certificate of its own making, reissued whenever the CA's material changes.
 * Clients may show a certificate; one that does not verify, or proves no identity of a known trust domain, ends the connection.
 */
export function createServerTls(options: ServerCredentialsOptions): ServerTls {
  const now = options.now ?? (() => new Date());
  let current: Promise<Issued> | undefined;
  options.authority.onChange(() => {
    current = undefined;
  });
  const renew = (): Promise<Issued> => {
    const issuing = issue(options, now).catch((failure: unknown) => {
      // The next connection tries again instead of meeting this failure for ever.
      if (current === issuing) current = undefined;
      throw failure;
    });
    current = issuing;
    return issuing;
  };
  return async () => {
    const issued = await (current ?? renew());
    const leftMs = issued.notAfter.getTime() - now().getTime();
    // Material that ends soon cannot give a certificate that lasts: then what there is must do.
    const signerLeftMs = options.authority.material.certificate.notAfter.getTime() - now().getTime();
    const spareMs = Math.min(RENEW_BEFORE_MS, (issued.notAfter.getTime() - issued.notBefore.getTime()) / 2);
    if (leftMs > spareMs || signerLeftMs <= RENEW_BEFORE_MS) return issued.credentials;
    // One that is valid still is better than none when the renewal fails.
    const renewed = renew();
    return (await (leftMs > 0 ? renewed.catch(() => issued) : renewed)).credentials;
  };
}

async function issue(options: ServerCredentialsOptions, now: () => Date): Promise<Issued> {
  const { material } = options.authority;
  const notBefore = now();
  const certificate = await options.authority.issueServer(options.hosts);
  const { trustDomain: given } = options;
  const trustDomains = typeof given === "string" ? () => [given] : given;
  const ownPools = () => trustDomains().map((trustDomain) => [trustDomain, material.roots] as const);
  const ca = [
    material.rootPem,
    ...[...(options.furtherPools?.values() ?? [])].flat().map((root) => encodePem("CERTIFICATE", root.der)),
  ];
  const intermediates = material.chainPem.flatMap(parsePemCertificates);
  return {
    notBefore,
    notAfter: certificate.notAfter,
    credentials: {
      key: certificate.keyPem.reveal(),
      cert: certificate.chainPem,
      ca,
      minVersion: "TLSv1.2",
      requestCert: true,
      rejectUnauthorized: false,
      refuse: (socket) => {
        const pools = new Map([...(options.furtherPools ?? []), ...ownPools()]);
        return clientProblem(socket, pools, now(), intermediates);
      },
    },
  };
}

/**
 * Why a client may not pass with the certificate it shows; one that shows none may. `intermediates` are those of our own CA: for a
 * session that is taken up again node has nothing but the leaf.
 */
export function clientProblem(
  socket: TLSSocket,
  pools: RootPools,
  now: Date,
  intermediates: readonly Buffer[] = [],
): string | undefined {
  // Asked for first: `getPeerX509Certificate` takes the rest of the chain away from whoever asks after it.
  const shown: Partial<DetailedPeerCertificate> | null = socket.getPeerCertificate(true);
  if (shown?.raw === undefined) return undefined;
  if (!socket.authorized) return `client certificate does not verify: ${socket.authorizationError}`;
  return peerProblem([...chainOf(shown), ...intermediates], pools, now);
}

/** A root names itself as its issuer: there the walk ends. */
function chainOf(leaf: Partial<DetailedPeerCertificate>): Buffer[] {
  const chain: Buffer[] = [];
  for (
    let next: Partial<DetailedPeerCertificate> | undefined = leaf;
    next?.raw !== undefined;
    next = next.issuerCertificate
  ) {
    const { raw } = next;
    if (chain.some((known) => known.equals(raw))) break;
    chain.push(raw);
  }
  return chain;
}

/** Roots by trust domain: a certificate proves an identity only under the roots of that identity's own trust domain. */
export type RootPools = ReadonlyMap<string, readonly Certificate[]>;

/** What is wrong with a client's certificate chain (DER, leaf first); undefined when it may pass. */
export function peerProblem(chain: readonly Buffer[], pools: RootPools, now: Date): string | undefined {
  try {
    const [leaf, ...rest] = chain.map(parseCertificate);
    if (leaf === undefined) return "no peer certificate";
    const uris = leaf.names.filter((name) => name.kind === "uri");
    const [uri] = uris;
    if (uri === undefined || uris.length !== 1) {
      return `peer certificate does not contain 1 URI type SAN, detected ${uris.length}`;
    }
    const { trustDomain } = parseSpiffeId(uri.value);
    const pool = pools.get(trustDomain);
    if (pool === undefined) return `no cert pool found for trust domain ${trustDomain}`;
    const verified = verifyChain(leaf, rest, pool, now);
    return verified.ok ? undefined : verified.reason;
  } catch (failure) {
    return failure instanceof Error ? failure.message : String(failure);
  }
}
