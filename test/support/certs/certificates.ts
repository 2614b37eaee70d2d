import { randomBytes } from "node:crypto";
import {
  buildCertificate,
  certificateExtension,
  keyIdentifier,
} from "../../../src/protocol/x509/certificate-builder.ts";
import {
  encodePrivateKey,
  generateKeyPair,
  type KeyOptions,
  type KeyPair,
} from "../../../src/protocol/x509/key-pair.ts";
import { buildName } from "../../../src/protocol/x509/name.ts";
import { encodePem } from "../../../src/protocol/x509/pem.ts";

/** A certificate with its key, ready to be written to files or to sign others. */
export interface TestCertificate {
  readonly keys: KeyPair;
  readonly der: Buffer;
  readonly pem: string;
  readonly keyPem: string;
  readonly subject: Buffer;
}

export interface TestCertificateOptions {
  readonly organization?: string;
  readonly commonName?: string;
  /** Self-signed when absent. */
  readonly by?: TestCertificate;
  readonly isCa?: boolean;
  readonly hosts?: readonly string[];
  readonly key?: KeyOptions;
  /** The pair to certify; generated when absent. */
  readonly keys?: KeyPair;
  /** Relative to now, in milliseconds. */
  readonly fromMs?: number;
  readonly toMs?: number;
  /** Instead of these. */
  readonly notBefore?: Date;
  readonly notAfter?: Date;
}

/** Any certificate a test wants, right or wrong: a one-hour ECDSA CA unless said otherwise. */
export async function makeCertificate(options: TestCertificateOptions = {}): Promise<TestCertificate> {
  const keys = options.keys ?? (await generateKeyPair(options.key ?? { type: "ecdsa", curve: "P256" }));
  const publicKeyDer = keys.publicKey.export({ type: "spki", format: "der" });
  const { organization, commonName } = options;
  const subject = buildName({
    ...(organization !== undefined && { organization }),
    ...(commonName !== undefined && { commonName }),
  });
  const isCa = options.isCa ?? true;
  const der = await buildCertificate(
    {
      issuer: options.by?.subject ?? subject,
      subject,
      serial: randomBytes(16),
      notBefore: options.notBefore ?? new Date(Date.now() + (options.fromMs ?? -60_000)),
      notAfter: options.notAfter ?? new Date(Date.now() + (options.toMs ?? 3_600_000)),
      publicKeyDer,
      extensions: [
        isCa ? certificateExtension.caKeyUsage() : certificateExtension.leafKeyUsage(),
        certificateExtension.basicConstraints(isCa),
        certificateExtension.subjectKeyId(keyIdentifier(publicKeyDer)),
        ...(options.hosts === undefined ? [] : [certificateExtension.subjectAltName(options.hosts)]),
      ],
    },
    (options.by?.keys ?? keys).privateKey,
  );
  const keyPem = encodePrivateKey(keys.privateKey, true).reveal();
  return { keys, der, pem: encodePem("CERTIFICATE", der), keyPem, subject };
}
