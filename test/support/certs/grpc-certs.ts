import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface CertifiedKey {
  readonly cert: string;
  readonly key: string;
}

export interface GrpcTestCerts {
  readonly ca: string;
  /** For localhost and 127.0.0.1. */
  readonly server: CertifiedKey;
  /** For the name other.test only. */
  readonly otherServer: CertifiedKey;
  /** Carries the URI name spiffe://cluster.local/ns/default/sa/client. */
  readonly client: CertifiedKey;
  /** The same name, signed by a CA that is not trusted. */
  readonly strangerClient: CertifiedKey;
}

let made: GrpcTestCerts | undefined;

/** Made once per test process with the machine's openssl; a test that uses them says so with `needs("openssl")`. */
export function grpcTestCerts(): GrpcTestCerts {
  made ??= makeCerts();
  return made;
}

function makeCerts(): GrpcTestCerts {
  const folder = mkdtempSync(join(tmpdir(), "grpc-certs-"));
  try {
    const spiffe = "URI:spiffe://cluster.local/ns/default/sa/client";
    makeCa(folder, "ca");
    makeCa(folder, "stranger");
    return {
      ca: readFileSync(join(folder, "ca.crt"), "utf8"),
      server: makeLeaf(folder, "ca", "server", "DNS:localhost,IP:127.0.0.1"),
      otherServer: makeLeaf(folder, "ca", "other", "DNS:other.test"),
      client: makeLeaf(folder, "ca", "client", spiffe),
      strangerClient: makeLeaf(folder, "stranger", "stranger-client", spiffe),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

function makeCa(folder: string, name: string): void {
  openssl(folder, [
    "req",
    "-x509",
    ...NEW_KEY,
    "-keyout",
    `${name}.key`,
    "-out",
    `${name}.crt`,
    "-days",
    "2",
    "-subj",
    `/O=${name}`,
  ]);
}

function makeLeaf(folder: string, ca: string, name: string, altNames: string): CertifiedKey {
  writeFileSync(join(folder, `${name}.ext`), `subjectAltName=${altNames}\n`);
  openssl(folder, ["req", ...NEW_KEY, "-keyout", `${name}.key`, "-out", `${name}.csr`, "-subj", `/CN=${name}`]);
  const signed = [
    "-CA",
    `${ca}.crt`,
    "-CAkey",
    `${ca}.key`,
    "-CAcreateserial",
    "-days",
    "1",
    "-extfile",
    `${name}.ext`,
  ];
  openssl(folder, ["x509", "-req", "-in", `${name}.csr`, "-out", `${name}.crt`, ...signed]);
  return {
    cert: readFileSync(join(folder, `${name}.crt`), "utf8"),
    key: readFileSync(join(folder, `${name}.key`), "utf8"),
  };
}

function openssl(folder: string, args: readonly string[]): void {
  execFileSync("openssl", args, { cwd: folder, stdio: "pipe" });
}
