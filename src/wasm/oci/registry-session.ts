import { createHash } from "node:crypto";
import { backoffDelayMs } from "../../base/backoff.ts";
import { wait } from "../../base/wait.ts";
import { shownUrl } from "../../net/http-client/http-error.ts";
import type { HttpResponse } from "../../net/http-client/http-request.ts";
import { isLoopback } from "../../net/ip.ts";
import type { RegistryCredential } from "../core/docker-config.ts";
import type { ImageReference } from "../core/image-reference.ts";
import { isPrivateIpv4 } from "../fetch/address-rules.ts";
import type { HttpClient } from "../fetch/http-client.ts";
import { WasmError } from "../wasm-error.ts";
import { type AuthorizeOptions, authorize } from "./authorize.ts";

export interface RegistryOptions {
  readonly client: HttpClient;
  readonly reference: ImageReference;
  readonly credential: RegistryCredential | undefined;
  readonly isInsecure: (host: string) => boolean;
  readonly signal: AbortSignal;
}

export interface RegistrySession {
  /** `what` is "manifests" or "blobs"; `name` a tag or digest. Rejects for any status but 200. */
  get(what: "manifests" | "blobs", name: string, options: GetOptions): Promise<HttpResponse>;
}

interface GetOptions {
  readonly maxBytes: number;
  readonly accept?: readonly string[];
}

const PASSING_STATUSES = new Set([408, 500, 502, 503, 504]);
const ATTEMPTS = 3;
const BACKOFF = { initialMs: 100, factor: 3, jitter: 0.1, maxMs: 1000 };
const MAX_PING_BYTES = 1024 * 1024;

/** Finds out how the registry is spoken to: scheme and authorization. */
export async function openRegistry(options: RegistryOptions): Promise<RegistrySession> {
  const { client, reference, signal } = options;
  const { registry, repository } = reference;
  const isTrusted = (url: URL) => options.isInsecure(url.host) || isLoopbackHost(url.hostname);
  const allowsPlain = (url: URL) => isTrusted(url) || isLocalHost(url.hostname);
  const inspect = (url: URL) => {
    if (url.protocol === "http:" && !allowsPlain(url))
      throw new WasmError("blocked", `plain http to ${url.host} is not allowed: name it in WASM_INSECURE_REGISTRIES`);
  };
  const auth: AuthorizeOptions = {
    client,
    registry,
    repository,
    credential: options.credential,
    // The registry itself gets them as it is spoken to; whoever it names does not.
    allowsPlain: (url) => (url.host === registry ? allowsPlain(url) : isTrusted(url)),
    signal,
  };
  const { base, answer: ping } = await pingRegistry(options, allowsPlain, inspect);
  let authorization = ping.status === 401 ? await authorize(challengesOf(ping), auth) : undefined;

  const ask = (url: URL, accept: readonly string[] | undefined, maxBytes: number) => {
    const headers = {
      ...(accept !== undefined && { accept: accept.join(",") }),
      ...(authorization !== undefined && { authorization }),
    };
    return withRetries(() => client({ url, headers, maxBytes, signal, inspect }), signal);
  };
  return {
    async get(what, name, { accept, maxBytes }) {
      const url = new URL(`/v2/${repository}/${what}/${name}`, base);
      let answer = await ask(url, accept, maxBytes);
      if (answer.status === 401 && answer.headers["www-authenticate"] !== undefined) {
        // The token may cover less than is asked for now, or be too old.
        authorization = await authorize(challengesOf(answer), auth);
        answer = await ask(url, accept, maxBytes);
      }
      if (answer.status === 200) return answer;
      throw new WasmError("unreachable", `Get "${shownUrl(url)}": unexpected status code ${answer.status}`);
    },
  };
}

/** "sha256:..." of bytes as they came. */
export function digestOf(bytes: Buffer, algorithm = "sha256"): string {
  return `${algorithm}:${createHash(algorithm).update(bytes).digest("hex")}`;
}

async function pingRegistry(
  { client, reference, signal }: RegistryOptions,
  allowsPlain: (url: URL) => boolean,
  inspect: (url: URL) => void,
): Promise<{ readonly base: URL; readonly answer: HttpResponse }> {
  const secure = new URL(`https://${reference.registry}/`);
  const plain = new URL(`http://${reference.registry}/`);
  const ping = async (base: URL) => {
    const url = new URL("/v2/", base);
    const answer = await withRetries(() => client({ url, maxBytes: MAX_PING_BYTES, signal, inspect }), signal);
    if (answer.status === 200 || answer.status === 401) return { base, answer };
    throw new WasmError("unreachable", `Get "${shownUrl(url)}": unexpected status code ${answer.status}`);
  };
  try {
    return await ping(secure);
  } catch (failure) {
    const isFinal = !(failure instanceof WasmError) || failure.code !== "unreachable";
    if (isFinal || signal.aborted || !allowsPlain(plain)) throw failure;
    return ping(plain);
  }
}

/** Registries behind load balancers fail now and then. A refused connection or certificate is asked about only once. */
async function withRetries(send: () => Promise<HttpResponse>, signal: AbortSignal): Promise<HttpResponse> {
  for (let attempt = 1; ; attempt += 1) {
    const mayRetry = attempt < ATTEMPTS && !signal.aborted;
    try {
      const answer = await send();
      if (!mayRetry || !PASSING_STATUSES.has(answer.status)) return answer;
    } catch (failure) {
      if (!mayRetry || !isDropped(failure)) throw failure;
    }
    await wait(backoffDelayMs(BACKOFF, attempt), signal);
  }
}

function isDropped(failure: unknown): boolean {
  const cause = failure instanceof WasmError ? failure.cause : undefined;
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  return code === "ECONNRESET" || code === "EPIPE" || code === "ECONNABORTED";
}

function challengesOf(answer: HttpResponse): readonly string[] {
  const header = answer.headers["www-authenticate"];
  return header === undefined ? [] : [header];
}

function isLoopbackHost(hostname: string): boolean {
  const host = hostname.toLowerCase();
  return host === "localhost" || host.endsWith(".localhost") || isLoopback(host);
}

/** By name or number of a private network, as in a cluster: registries there seldom have certificates. */
function isLocalHost(hostname: string): boolean {
  return hostname.toLowerCase().endsWith(".local") || isPrivateIpv4(hostname);
}
