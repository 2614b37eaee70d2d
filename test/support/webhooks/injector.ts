import { renameSync } from "node:fs";
import { CloseStack } from "../../../src/base/close-stack.ts";
import { DIRECT_PARSER } from "../../../src/discovery/parse/config-parser.ts";
import { type StartInjectorOptions, startInjector } from "../../../src/discovery/start-injector.ts";
import { applyPatch } from "../../../src/inject/core/documents/uninject-document.ts";
import type { PatchOperation } from "../../../src/inject/core/json-patch.ts";
import type { HttpResponse } from "../../../src/net/http-client/http-request.ts";
import { httpRequest } from "../../../src/net/http-client/http-request.ts";
import { createTlsKeepAliveAgent } from "../../../src/net/http-client/tls-keep-alive-agent.ts";
import { makeCertificate, type TestCertificate } from "../certs/certificates.ts";
import { type TemporaryFolder, temporaryFolder } from "../files/temporary-folder.ts";
import { type RecordedLog, recordLog } from "../log/recording-log.ts";
import { webhookSettings } from "./settings.ts";

/** Webhooks in this process with a certificate of files, and a client of them. */
export interface TestInjector extends AsyncDisposable {
  readonly folder: TemporaryFolder;
  readonly log: RecordedLog;
  readonly port: number;
  /** Trusts certificates of `ca` alone. */
  post(path: string, body: string | Uint8Array, options?: PostOptions): Promise<HttpResponse>;
  metrics(): Promise<string>;
  /** A new certificate of the same CA, put there as a rename. Resolves to its serial number's owner: the common name. */
  rotate(commonName: string): Promise<void>;
  stop(): Promise<void>;
}

export interface PostOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** On a connection of its own. */
  readonly isAlone?: boolean;
}

export interface TestInjectorOptions extends Partial<StartInjectorOptions> {
  readonly config?: string;
  readonly values?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

const HOSTS = ["127.0.0.1"];
const host = "127.0.0.1";

export async function startTestInjector(options: TestInjectorOptions = {}): Promise<TestInjector> {
  await using opened = new CloseStack();
  const folder = opened.add(temporaryFolder());
  const ca = await makeCertificate({ commonName: "root" });
  const names = { config: folder.file("config"), values: folder.file("values") };
  if (options.config !== undefined) folder.write("config", options.config);
  if (options.values !== undefined) folder.write("values", options.values);
  const files =
    options.config === undefined && options.values === undefined
      ? undefined
      : {
          config: options.config === undefined ? "" : names.config,
          values: options.values === undefined ? "" : names.values,
        };
  await writeCertificate(folder, ca, "first");
  const log = recordLog();
  const injector = await startInjector({
    ports: { https: { host, port: 0 }, monitoring: { host, port: 0 } },
    webhooks: webhookSettings(options.environment, files),
    servingFiles: {
      certificate: folder.file("tls.crt"),
      key: folder.file("tls.key"),
      ca: folder.write("ca.crt", ca.pem),
    },
    caDirectory: folder.file("ca"),
    domainSuffix: "cluster.local",
    systemNamespace: "istio-system",
    revision: "",
    shutdownMs: 5000,
    parser: DIRECT_PARSER,
    reviewThread: "none",
    log,
    ...options,
  });
  opened.add(injector);
  const agent = createTlsKeepAliveAgent(60_000);
  opened.defer(() => agent.destroy());
  const portOf = (address: object | undefined) => Number(address !== undefined && "port" in address && address.port);
  const port = portOf(injector.addresses.https);
  const owned = opened.move();
  return {
    folder,
    log,
    port,
    post: (path, body, { headers = {}, isAlone = false } = {}) =>
      httpRequest({
        url: `https://${host}:${port}${path}`,
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body,
        tls: { ca: ca.pem },
        timeoutMs: 60_000,
        maxBytes: 32 * 1024 * 1024,
        ...(!isAlone && { agent }),
      }),
    metrics: async () => (await fetch(`http://${host}:${portOf(injector.addresses.monitoring)}/metrics`)).text(),
    rotate: (commonName) => writeCertificate(folder, ca, commonName),
    stop: () => injector.stop(),
    [Symbol.asyncDispose]: () => owned.close(),
  };
}

/** Each file appears whole; between the two the pair does not match for a moment, as with every tool that writes files. */
async function writeCertificate(folder: TemporaryFolder, by: TestCertificate, commonName: string): Promise<void> {
  const made = await makeCertificate({ by, isCa: false, hosts: HOSTS, commonName });
  for (const [name, text] of [
    ["tls.crt", made.pem],
    ["tls.key", made.keyPem],
  ] as const) {
    renameSync(folder.write(`${name}.new`, text), folder.file(name));
  }
}

export interface ReviewOptions {
  readonly version?: "v1" | "v1beta1";
  readonly request?: object;
}

/** A review as an API server sends it. */
export function reviewOf(object: object, { version = "v1", request = {} }: ReviewOptions = {}): string {
  return JSON.stringify({
    kind: "AdmissionReview",
    apiVersion: `admission.k8s.io/${version}`,
    request: {
      uid: "705ab4f5-6393-11e8-b7cc-42010a800002",
      kind: { group: "", version: "v1", kind: "Pod" },
      resource: { group: "", version: "v1", resource: "pods" },
      requestKind: { group: "", version: "v1", kind: "Pod" },
      requestResource: { group: "", version: "v1", resource: "pods" },
      namespace: "apps",
      operation: "CREATE",
      userInfo: {
        username: "system:serviceaccount:kube-system:replicaset-controller",
        groups: ["system:authenticated"],
      },
      object,
      oldObject: null,
      dryRun: false,
      options: { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1" },
      ...request,
    },
  });
}

export function podOf(metadata: object = {}, spec: object = {}): Record<string, unknown> {
  return {
    kind: "Pod",
    apiVersion: "v1",
    metadata: { generateName: "web-7d9f-", labels: { app: "web" }, ...metadata },
    spec: { containers: [{ name: "app", image: "app:1" }], ...spec },
  };
}

export interface ReviewAnswer {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly response: {
    readonly uid: string;
    readonly allowed: boolean;
    readonly patchType?: string;
    readonly patch?: string;
    readonly status?: { readonly message: string };
    readonly warnings?: readonly string[];
  };
}

export function answerOf({ body }: HttpResponse): ReviewAnswer {
  return JSON.parse(body) as ReviewAnswer;
}

/** The object with the answer's patch, as the API server goes on with it. */
export function patched(object: Record<string, unknown>, { response }: ReviewAnswer) {
  const operations = JSON.parse(Buffer.from(response.patch ?? "W10=", "base64").toString()) as PatchOperation[];
  return applyPatch(object, operations) as {
    readonly metadata: { readonly annotations?: Readonly<Record<string, string>>; readonly labels?: object };
    readonly spec: Readonly<
      Record<"containers" | "initContainers", readonly { readonly name: string; readonly env?: readonly object[] }[]>
    >;
  };
}
