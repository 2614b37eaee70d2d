import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { CodedError, errorMessage } from "../../../base/coded-error.ts";
import type { Secret } from "../../../base/secret.ts";
import { HttpError } from "../../../net/http-client/http-error.ts";
import { openHttp } from "../../../net/http-client/http-request.ts";
import type { KubernetesSecret } from "./kubernetes-secret.ts";

export class KubernetesError extends CodedError<"unreachable" | "refused" | "gone" | "bad-answer"> {}

export interface KubernetesAccess {
  /** https://host:port. */
  readonly apiUrl: string;
  /** PEM of the API server's CA. */
  readonly ca?: string | undefined;
  /** Asked for every request: projected tokens are replaced while we run. */
  readonly token: () => Promise<Secret>;
}

const REQUEST_LIMIT_MS = 30_000;
const GONE = 410;
const NOT_FOUND = 404;
/** A watch is silent for long: the kernel finds out about an API server that is gone. */
const KEEPALIVE_MS = 30_000;
/** Names of Kubernetes objects. Others cannot exist, and some ("..") would lead to another address. */
const OBJECT_NAME = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/;

/** Opens a GET; resolves with the body once the response's head is there. Anything but 200 rejects. */
export async function openGet(access: KubernetesAccess, path: string, signal: AbortSignal): Promise<Readable> {
  const url = new URL(path, access.apiUrl);
  const headers = { authorization: `Bearer ${(await access.token()).reveal()}`, accept: "application/json" };
  const fail = (code: KubernetesError["code"], reason: string, cause?: unknown) =>
    new KubernetesError(code, `Kubernetes API at ${url.host}: ${reason}`, { cause });
  const response = await openHttp({
    url,
    headers,
    // Only until the head is there: a watch is silent for as long as nothing changes.
    timeoutMs: REQUEST_LIMIT_MS,
    keepaliveMs: KEEPALIVE_MS,
    signal,
    ...(access.ca !== undefined && { tls: { ca: access.ca } }),
  }).catch((cause: unknown) => {
    const reason = cause instanceof HttpError ? cause.reason : errorMessage(cause);
    throw fail("unreachable", reason, cause);
  });
  if (response.status === 200) return response.body;
  response.discard();
  const code = response.status === GONE ? "gone" : "refused";
  throw fail(code, `GET ${url.pathname} answered ${response.status}`);
}

/** Undefined for a secret that does not exist. */
export async function getSecret(
  access: KubernetesAccess,
  namespace: string,
  name: string,
  signal: AbortSignal,
): Promise<KubernetesSecret | undefined> {
  if (!OBJECT_NAME.test(name)) return undefined;
  try {
    const body = await openGet(access, `${secretsPath(namespace)}/${encodeURIComponent(name)}`, signal);
    return parseSecret(parseJson(await text(body)));
  } catch (failure) {
    if (failure instanceof KubernetesError && failure.message.endsWith(` ${NOT_FOUND}`)) return undefined;
    throw failure;
  }
}

export function secretsPath(namespace: string): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`;
}

/** JSON.parse quotes its input in the message, which here is a secret. */
export function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new KubernetesError("bad-answer", "the Kubernetes API answered with something that is not JSON");
  }
}

/** An object of kind Secret with its base64 values decoded; undefined for anything without a name. */
export function parseSecret(object: unknown): KubernetesSecret | undefined {
  const { metadata, data } = (object ?? {}) as { metadata?: { name?: unknown }; data?: Record<string, unknown> };
  if (typeof metadata?.name !== "string") return undefined;
  const values = Object.entries(data ?? {}).map(([key, value]) => [key, Buffer.from(String(value), "base64")] as const);
  return { name: metadata.name, data: new Map(values) };
}
