import type { KeyObject } from "node:crypto";
import { buildCertificate, certificateExtension, keyIdentifier } from "../../protocol/x509/certificate-builder.ts";
import type { KeyPair } from "../../protocol/x509/key-pair.ts";
import { buildName } from "../../protocol/x509/name.ts";
import { encodePem } from "../../protocol/x509/pem.ts";

/** A root certificate in PEM: subject `O=<trust domain>` and nothing else, may sign certificates, not backdated. */
export async function selfSignedRoot(
  keys: KeyPair,
  trustDomain: string,
  own: { readonly notBefore: Date; readonly notAfter: Date; readonly serial: Uint8Array },
): Promise<string> {
  const name = buildName({ organization: trustDomain });
  const publicKeyDer = spki(keys.publicKey);
  const extensions = [
    certificateExtension.caKeyUsage(),
    certificateExtension.basicConstraints(true),
    certificateExtension.subjectKeyId(keyIdentifier(publicKeyDer)),
  ];
  const fields = { issuer: name, subject: name, publicKeyDer, extensions, ...own };
  return encodePem("CERTIFICATE", await buildCertificate(fields, keys.privateKey));
}

function spki(key: KeyObject): Buffer {
  return key.export({ type: "spki", format: "der" });
}

/** True when no more than this percentage of the root's life is left. */
export function isRootDue(
  root: { readonly notBefore: Date; readonly notAfter: Date },
  gracePercent: number,
  now: Date,
): boolean {
  const life = root.notAfter.getTime() - root.notBefore.getTime();
  return root.notAfter.getTime() - now.getTime() <= (life * gracePercent) / 100;
}
