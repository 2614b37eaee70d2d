import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { buildTarGz } from "./archive.ts";

export interface OciRegistryOptions {
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Absent: everybody may read. */
  readonly auth?: RegistryAuth;
  /** Blobs are handed out at another address, as registries with an object store do. */
  readonly blobStore?: (digest: string) => string;
}

export type RegistryAuth =
  | { readonly kind: "basic"; readonly user: string; readonly password: string }
  | {
      readonly kind: "bearer";
      readonly user?: string;
      readonly password?: string;
      readonly refreshToken?: string;
      /** Where tokens are; this server's own token service when absent. */
      readonly realm?: string;
    };

export interface OciDescriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

export interface OciRegistry extends AsyncDisposable {
  /** host:port. */
  readonly host: string;
  readonly port: number;
  /** "GET /v2/..." in the order they came. */
  readonly requests: string[];
  addBlob(mediaType: string, content: Buffer): OciDescriptor;
  /** Under a tag and its digest, which is returned. */
  addManifest(repository: string, tag: string, document: object, mediaType: string): string;
  /** An image that holds the module, in one of the forms modules are published in. */
  push(repository: string, tag: string, module: Buffer, form?: ImageForm): string;
  /** The next answers have this status instead. */
  failNext(count: number, status: number): void;
  /** Answers a request in place of the registry when it returns true. */
  intercept(handler: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined): void;
  readonly content: Map<string, Buffer>;
}

export type ImageForm = "docker" | "compat" | "artifact";

export const OCI_TYPES = {
  dockerManifest: "application/vnd.docker.distribution.manifest.v2+json",
  dockerLayer: "application/vnd.docker.image.rootfs.diff.tar.gzip",
  dockerConfig: "application/vnd.docker.container.image.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  index: "application/vnd.oci.image.index.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar+gzip",
  config: "application/vnd.oci.image.config.v1+json",
  artifactConfig: "application/vnd.module.wasm.config.v1+json",
  artifactLayer: "application/vnd.module.wasm.content.layer.v1+wasm",
} as const;

const TOKEN = "token-of-the-registry";

/** The pull side of the OCI distribution protocol on a loopback port: ping, challenges, tokens, manifests by tag and digest, blobs. */
export async function startOciRegistry(options: OciRegistryOptions = {}): Promise<OciRegistry> {
  const content = new Map<string, Buffer>();
  const manifests = new Map<string, { readonly body: Buffer; readonly mediaType: string }>();
  const requests: string[] = [];
  let failures = { count: 0, status: 500 };
  let interceptor: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  const scheme = options.tls === undefined ? "http" : "https";

  const listener: RequestListener = (request, response) => {
    requests.push(`${request.method} ${request.url}`);
    const url = new URL(request.url ?? "/", `${scheme}://${host()}`);
    if (interceptor?.(request, response)) return;
    if (failures.count > 0) {
      failures = { ...failures, count: failures.count - 1 };
      return void response.writeHead(failures.status).end();
    }
    if (url.pathname === "/token") return void serveToken(request, response, url, options.auth);
    if (!isAuthorized(request, options.auth)) {
      const challenge = challengeOf(options.auth, `${scheme}://${host()}`);
      return void response
        .writeHead(401, { "www-authenticate": challenge })
        .end('{"errors":[{"code":"UNAUTHORIZED"}]}');
    }
    if (url.pathname === "/v2/") return void response.writeHead(200).end("{}");
    const [, repository = "", kind = "", name = ""] =
      /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(url.pathname) ?? [];
    if (kind === "manifests") return serveManifest(manifests.get(`${repository}/${name}`), request, response);
    if (kind === "blobs") return serveBlob(content.get(name), name, response, options.blobStore);
    response.writeHead(404).end();
  };
  const server = options.tls === undefined ? createServer(listener) : createTlsServer(options.tls, listener);
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const { port } = server.address() as AddressInfo;
  const host = () => `127.0.0.1:${port}`;

  const registry: OciRegistry = {
    host: host(),
    port,
    requests,
    content,
    addBlob(mediaType, bytes) {
      const digest = digestOf(bytes);
      content.set(digest, bytes);
      return { mediaType, digest, size: bytes.length };
    },
    addManifest(repository, tag, document, mediaType) {
      const body = Buffer.from(JSON.stringify(document));
      for (const name of [tag, digestOf(body)]) manifests.set(`${repository}/${name}`, { body, mediaType });
      return digestOf(body);
    },
    push(repository, tag, module, form = "compat") {
      const { mediaType, ...document } = imageOf(registry, module, form);
      return registry.addManifest(repository, tag, { ...document, mediaType }, mediaType);
    },
    failNext(count, status) {
      failures = { count, status };
    },
    intercept(handler) {
      interceptor = handler;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
  return registry;
}

export function digestOf(bytes: Buffer): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

function imageOf(registry: OciRegistry, module: Buffer, form: ImageForm) {
  const config = (mediaType: string) => registry.addBlob(mediaType, Buffer.from("{}"));
  if (form === "artifact") {
    const layers = [
      registry.addBlob(OCI_TYPES.artifactConfig, Buffer.from('{"type":"envoy_proxy"}')),
      registry.addBlob(OCI_TYPES.artifactLayer, module),
    ];
    return { schemaVersion: 2, mediaType: OCI_TYPES.manifest, config: config(OCI_TYPES.config), layers };
  }
  const [mediaType, layerType, configType] =
    form === "docker"
      ? [OCI_TYPES.dockerManifest, OCI_TYPES.dockerLayer, OCI_TYPES.dockerConfig]
      : [OCI_TYPES.manifest, OCI_TYPES.layer, OCI_TYPES.config];
  const layers = [
    registry.addBlob(layerType, buildTarGz([{ name: "etc/motd", data: Buffer.from("hello") }])),
    registry.addBlob(layerType, buildTarGz([{ name: "./plugin.wasm", data: module }])),
  ];
  return { schemaVersion: 2, mediaType, config: config(configType), layers };
}

function serveManifest(
  found: { readonly body: Buffer; readonly mediaType: string } | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const accepted = request.headers.accept ?? "";
  if (found === undefined || !accepted.includes(found.mediaType)) {
    response.writeHead(404).end('{"errors":[{"code":"MANIFEST_UNKNOWN"}]}');
    return;
  }
  const { body, mediaType } = found;
  response.writeHead(200, { "content-type": mediaType, "docker-content-digest": digestOf(body) }).end(body);
}

function serveBlob(
  bytes: Buffer | undefined,
  digest: string,
  response: ServerResponse,
  store: ((digest: string) => string) | undefined,
): void {
  if (bytes === undefined) response.writeHead(404).end('{"errors":[{"code":"BLOB_UNKNOWN"}]}');
  else if (store !== undefined) response.writeHead(307, { location: store(digest) }).end();
  else response.writeHead(200, { "content-type": "application/octet-stream" }).end(bytes);
}

function isAuthorized(request: IncomingMessage, auth: RegistryAuth | undefined): boolean {
  if (auth === undefined) return true;
  const given = request.headers.authorization;
  if (auth.kind === "basic") return given === `Basic ${basic(auth.user, auth.password)}`;
  return given === `Bearer ${TOKEN}`;
}

function challengeOf(auth: RegistryAuth | undefined, own: string): string {
  if (auth?.kind === "basic") return 'Basic realm="images"';
  return `Bearer realm="${auth?.realm ?? `${own}/token`}",service="registry.test"`;
}

/** GET with basic credentials, or the OAuth form with a refresh token. */
async function serveToken(
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
  auth: RegistryAuth | undefined,
): Promise<void> {
  let body = "";
  for await (const chunk of request) body += String(chunk);
  const words = request.method === "POST" ? new URLSearchParams(body) : url.searchParams;
  const refused = () => void response.writeHead(401).end();
  if (auth?.kind !== "bearer" || words.get("service") !== "registry.test") return refused();
  if (!/^repository:.+:pull$/.test(words.get("scope") ?? "")) return refused();
  if (auth.refreshToken !== undefined && words.get("refresh_token") !== auth.refreshToken) return refused();
  const credentials = auth.user === undefined ? undefined : `Basic ${basic(auth.user, auth.password ?? "")}`;
  if (credentials !== undefined && request.headers.authorization !== credentials) return refused();
  const member = request.method === "POST" ? "access_token" : "token";
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ [member]: TOKEN }));
}

function basic(user: string, password: string): string {
  return Buffer.from(`${user}:${password}`).toString("base64");
}
