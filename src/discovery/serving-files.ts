import { createPrivateKey, X509Certificate } from "node:crypto";
import { stat } from "node:fs/promises";
import { errorMessage } from "../base/coded-error.ts";
import { clientProblem, type SigningMaterial } from "../ca/index.ts";
import { readTextLimited } from "../files/read-file.ts";
import type { ServerCredentials, ServerTls } from "../net/listen/tls-acceptor.ts";
import { parseCertificate } from "../protocol/x509/certificate.ts";
import { parsePemCertificates } from "../protocol/x509/pem.ts";
import type { ServingFiles } from "../settings/discovery-settings.ts";
import { DiscoveryError } from "./discovery-error.ts";

interface Loaded {
  readonly stamp: string;
  readonly credentials: ServerCredentials;
}

/**
 * A serving certificate from files, looked at for each connection and read again when its files changed. Clients may show
 * certificates of the given roots or of the own CA, for identities of the mesh's trust domains. Files that become unusable leave the
 * last good ones in force.
 */
export function createFileTls(
  files: ServingFiles,
  authority: { readonly material: Pick<SigningMaterial, "rootPem" | "chainPem"> },
  trustDomains: () => readonly string[],
): ServerTls {
  let loaded: Loaded | undefined;
  return async () => {
    try {
      const { material } = authority;
      const stamp = [await stampOf(files), material.rootPem, ...material.chainPem].join(" ");
      if (loaded?.stamp !== stamp) loaded = { stamp, credentials: await load(files, material, trustDomains) };
      return loaded.credentials;
    } catch (thrown) {
      if (loaded !== undefined) return loaded.credentials;
      const names = `--tlsCertFile ${files.certificate}, --tlsKeyFile ${files.key}, --caCertFile ${files.ca}`;
      throw new DiscoveryError("invalid-files", `serving certificate (${names}): ${errorMessage(thrown)}`, {
        cause: thrown,
      });
    }
  };
}

async function load(
  files: ServingFiles,
  { rootPem, chainPem }: Pick<SigningMaterial, "rootPem" | "chainPem">,
  trustDomains: () => readonly string[],
): Promise<ServerCredentials> {
  const [cert, key, given] = await Promise.all([
    readTextLimited(files.certificate),
    readTextLimited(files.key),
    readTextLimited(files.ca),
  ]);
  // Found out here, where the last good ones are still there: not by every client in turn.
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
    throw new Error("the key is not that of the certificate");
  }
  const ca = [rootPem, given];
  const roots = ca.flatMap(parsePemCertificates).map(parseCertificate);
  const pools = () => new Map(trustDomains().map((trustDomain) => [trustDomain, roots]));
  // Those of the own CA: a session that is taken up again shows no more than the leaf.
  const intermediates = chainPem.flatMap(parsePemCertificates);
  const refuse: ServerCredentials["refuse"] = (socket) => clientProblem(socket, pools(), new Date(), intermediates);
  return { key, cert, ca, requestCert: true, rejectUnauthorized: false, refuse };
}

async function stampOf({ certificate, key, ca }: ServingFiles): Promise<string> {
  const found = await Promise.all([certificate, key, ca].map((path) => stat(path)));
  return found.map(({ mtimeMs, size, ino }) => `${mtimeMs}/${size}/${ino}`).join(" ");
}
