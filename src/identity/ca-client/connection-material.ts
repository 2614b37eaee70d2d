import { createHash, createPrivateKey } from "node:crypto";
import { join } from "node:path";
import type { SecureContextOptions } from "node:tls";
import type { Logger } from "../../base/logger.ts";
import { Secret } from "../../base/secret.ts";
import type { ClientCredentials } from "../../grpc/index.ts";
import { handshakeOptions } from "../../net/tls/handshake-options.ts";
import { parseCertificate } from "../../protocol/x509/certificate.ts";
import { parsePemCertificates } from "../../protocol/x509/pem.ts";
import { parseTrustBundle, type TrustBundle } from "../../protocol/x509/trust-bundle.ts";
import { readCertificateFile, readProblem } from "../files/read-file.ts";
import { SecretError } from "../secret-error.ts";
import { CaError } from "./ca-error.ts";

export interface MaterialFiles {
  readonly rootFile: string;
  readonly systemRootFile?: string | undefined;
  readonly clientCertificateDirectory?: string | undefined;
  /** Called with the bundle of every read, to report what is left out of it. */
  onRoots?(path: string, bundle: TrustBundle): void;
}

/** What a connection to the CA is made with, as the files are now. */
export interface ConnectionMaterial {
  readonly roots: string | undefined;
  readonly client: { readonly chain: string; readonly key: Secret } | undefined;
  /** Changes with any byte of the above. */
  readonly fingerprint: string;
}

/** Rejects with a `CaError` when the roots cannot be used. Client certificates that cannot be used only warn: a token may do. */
export async function readConnectionMaterial(
  files: MaterialFiles,
  log: Logger,
  now: Date,
): Promise<ConnectionMaterial> {
  const roots = await readRoots(files);
  const client = await readClientCertificate(files.clientCertificateDirectory, log, now);
  const hash = createHash("sha256");
  for (const part of [roots, client?.chain, client?.key.reveal()]) hash.update(part ?? "").update("\0");
  return { roots, client, fingerprint: hash.digest("base64") };
}

export function tlsCredentials(
  material: ConnectionMaterial,
  serverName: string,
  limits: SecureContextOptions = {},
): ClientCredentials {
  const options: SecureContextOptions = {
    minVersion: "TLSv1.2",
    ...limits,
    ...(material.roots === undefined ? {} : { ca: material.roots }),
    ...(material.client === undefined ? {} : { cert: material.client.chain, key: material.client.key.reveal() }),
  };
  return { serverName, ...handshakeOptions(options) };
}

async function readRoots(files: MaterialFiles): Promise<string | undefined> {
  const path = files.rootFile === "" ? (files.systemRootFile ?? "") : files.rootFile;
  if (path === "") return undefined;
  const unusable = (why: string, cause?: unknown) =>
    new CaError("bad-config", `failed to create TLS dial option with root certificates: ${path}: ${why}`, { cause });
  let text: string;
  try {
    text = await readText(path);
  } catch (cause) {
    throw unusable(readProblem(cause), cause);
  }
  const bundle = parseTrustBundle(text);
  if (bundle.count === 0) throw unusable(bundle.problems[0]?.reason ?? "no certificate in it");
  files.onRoots?.(path, bundle);
  return bundle.pem;
}

async function readClientCertificate(
  directory: string | undefined,
  log: Logger,
  now: Date,
): Promise<ConnectionMaterial["client"]> {
  if (directory === undefined || directory === "") return undefined;
  const warn = (reason: string) => {
    log.warn("cannot use the client certificate, calling the CA without it", { directory, reason });
    return undefined;
  };
  try {
    const [key, chain] = await Promise.all(
      ["key.pem", "cert-chain.pem"].map((name) => readText(join(directory, name))),
    );
    if (key === undefined || chain === undefined) return undefined;
    const [leaf] = parsePemCertificates(chain);
    if (leaf === undefined) return warn("no certificate in cert-chain.pem");
    // Only to see that it is one: a pair that does not match must fail the handshake, as a misconfiguration to be seen.
    createPrivateKey(key);
    if (parseCertificate(leaf).notAfter <= now) return warn("expired");
    return { chain, key: new Secret(key) };
  } catch (cause) {
    return warn(cause instanceof SecretError ? readProblem(cause) : "not a certificate and key in PEM");
  }
}

async function readText(path: string): Promise<string> {
  return (await readCertificateFile(path)).toString("utf8");
}
