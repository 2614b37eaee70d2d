import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeCertificate, type TestCertificate, type TestCertificateOptions } from "../certs/certificates.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const VALID = { fromMs: -60 * 60 * 1000, toMs: 365 * DAY_MS };

/** What a cluster is started with: certificates, keys, a token and a kubeconfig, all in its folder. */
export interface ClusterFiles {
  readonly folder: string;
  /** Where the API server listens. */
  readonly address: string;
  readonly port: number;
  readonly server: string;
  readonly ca: TestCertificate;
  /** In the group system:masters, for which RBAC is not asked. */
  readonly adminToken: string;
  /** Path of a kubeconfig with a client certificate of the same group. */
  readonly kubeconfig: string;
  file(name: string): string;
  /** `NAME.crt`, `NAME.key` and `NAME.kubeconfig` of another user or server of the cluster. */
  issue(name: string, subject: Pick<TestCertificateOptions, "organization" | "commonName" | "hosts">): Promise<void>;
}

export async function writeClusterFiles(folder: string, port: number, address = "127.0.0.1"): Promise<ClusterFiles> {
  const server = `https://${address}:${port}`;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = (name: string) => join(folder, name);
  const write = (name: string, content: string) => {
    writeFileSync(file(name), content, { mode: 0o600 });
    return file(name);
  };
  const ca = await makeCertificate({ ...VALID, commonName: "kubernetes-ca" });
  const [serving, admin, account] = await Promise.all([
    makeCertificate({ ...VALID, by: ca, isCa: false, commonName: "kube-apiserver", hosts: [...SERVER_NAMES, address] }),
    makeCertificate({ ...VALID, by: ca, isCa: false, organization: "system:masters", commonName: "admin" }),
    // Only its keys count; RSA, because that is what clusters sign tokens with.
    makeCertificate({ ...VALID, key: { type: "rsa", bits: 2048 } }),
  ]);
  write("ca.crt", ca.pem);
  write("ca.key", ca.keyPem);
  write("server.crt", serving.pem);
  write("server.key", serving.keyPem);
  write("accounts.key", account.keyPem);
  write("accounts.pub", account.keys.publicKey.export({ type: "spki", format: "pem" }).toString());
  const adminToken = randomBytes(24).toString("base64url");
  write("tokens.csv", `${adminToken},admin,admin,"system:masters"\n`);
  const kubeconfig = write(
    "admin.kubeconfig",
    kubeconfigText(server, ca.pem, {
      "client-certificate-data": Buffer.from(admin.pem).toString("base64"),
      "client-key-data": Buffer.from(admin.keyPem).toString("base64"),
    }),
  );
  const issue: ClusterFiles["issue"] = async (name, subject) => {
    const { pem, keyPem } = await makeCertificate({ ...VALID, by: ca, isCa: false, ...subject });
    const user = { "client-certificate": write(`${name}.crt`, pem), "client-key": write(`${name}.key`, keyPem) };
    write(`${name}.kubeconfig`, kubeconfigText(server, ca.pem, user));
  };
  return { folder, address, port, server, ca, adminToken, kubeconfig, file, issue };
}

const SERVER_NAMES = ["localhost", "10.96.0.1", "kubernetes.default.svc"];

/** A kubeconfig of one context; JSON is YAML. */
export function kubeconfigText(server: string, caPem: string, user: object): string {
  const cluster = { server, "certificate-authority-data": Buffer.from(caPem).toString("base64") };
  return `${JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "test", cluster }],
    users: [{ name: "test", user }],
    contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
    "current-context": "test",
  })}\n`;
}
