import { generateKeyPairSync, type KeyObject, randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { makeCertificate } from "../../../test/support/certs/certificates.ts";
import { type TemporaryFolder, temporaryFolder } from "../../../test/support/files/temporary-folder.ts";
import { checkKeyPair, readKeyPairFiles } from "./key-pair-file.ts";

let directory: TemporaryFolder;
beforeEach(async () => {
  directory = temporaryFolder();
});
afterEach(() => directory[Symbol.asyncDispose]());

const { pem: certificate, keyPem: key } = await makeCertificate({ isCa: false });
const other = await makeCertificate({ isCa: false });
const EC_PARAMETERS = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";

async function read(certificateText: string | Buffer, keyText: string | Buffer) {
  const [certificatePath, keyPath] = [join(directory.path, randomUUID()), join(directory.path, randomUUID())];
  await writeFile(certificatePath, certificateText);
  await writeFile(keyPath, keyText);
  return readKeyPairFiles(certificatePath, keyPath);
}

const windows = (text: string) => text.replaceAll("\n", "\r\n");

describe("served byte for byte", () => {
  test.each([
    { what: "a pair", texts: [certificate, key] },
    { what: "lines that end as on Windows", texts: [windows(certificate), windows(key)] },
    { what: "no newline at the end", texts: [certificate.trimEnd(), key.trimEnd()] },
    { what: "prose before and after the certificate", texts: [`Bag Attributes\n${certificate}the end\n`, key] },
    { what: "curve parameters before the key", texts: [certificate, EC_PARAMETERS + key] },
    { what: "both in one file", texts: [certificate + key, certificate + key] },
  ])("is $what", async ({ texts: [first = "", second = ""] }) => {
    const pair = await read(first, second);
    expect([pair.certificate.toString(), pair.key.toString()]).toEqual([first, second]);
  });
});

test("a byte order mark is left out: Envoy would find no certificate behind it", async () => {
  const pair = await read(`\ufeff${certificate}`, `\ufeff${key}`);
  expect([pair.certificate.toString(), pair.key.toString()]).toEqual([certificate, key]);
});

const pss = generateKeyPairSync("rsa-pss", { modulusLength: 2048 }).privateKey;
const koblitz = generateKeyPairSync("ec", { namedCurve: "secp256k1" }).privateKey;
const edwards = generateKeyPairSync("ed25519").privateKey;
const pkcs8 = (privateKey: KeyObject) => privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const encrypted = generateKeyPairSync("ed25519").privateKey.export({
  type: "pkcs8",
  format: "pem",
  cipher: "aes-128-cbc",
  passphrase: "x",
});

test.each([
  { what: "an empty certificate", texts: ["", key], says: "tls: failed to find any PEM data in certificate input" },
  {
    what: "a certificate of another block type",
    texts: [certificate.replaceAll("CERTIFICATE", "X509 CERTIFICATE"), key],
    says: 'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: [X509 CERTIFICATE]',
  },
  { what: "an empty key", texts: [certificate, ""], says: "tls: failed to find any PEM data in key input" },
  { what: "a key with a password", texts: [certificate, String(encrypted)], says: "tls: failed to parse private key" },
  { what: "another's key", texts: [certificate, other.keyPem], says: "tls: private key does not match public key" },
  {
    what: "a key of another type",
    texts: [certificate, pkcs8(edwards)],
    says: "tls: private key type does not match public key type",
  },
  { what: "a key bound to one padding", texts: [certificate, pkcs8(pss)], says: "tls: failed to parse private key" },
  { what: "a curve Envoy lacks", texts: [certificate, pkcs8(koblitz)], says: "x509: unsupported elliptic curve" },
  {
    what: "half a certificate",
    texts: [`${certificate.slice(0, 200)}\n-----END CERTIFICATE-----\n`, key],
    says: "x509: malformed certificate",
  },
])("$what is refused, and nothing of it is quoted", ({ texts: [first = "", second = ""], says }) => {
  const refusal = (() => {
    try {
      return checkKeyPair(Buffer.from(first), Buffer.from(second));
    } catch (thrown) {
      return thrown;
    }
  })();
  expect(refusal).toMatchObject({ code: "bad-file", message: says });
  expect(refusal).not.toHaveProperty("cause");
});
