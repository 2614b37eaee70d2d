import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { CodedError, errorMessage } from "../../base/coded-error.ts";
import type { Secret } from "../../base/secret.ts";
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

/** Opens a GET; resolves with the response once its head is there. Anything but 200 rejects. */
export async function openGet(access: KubernetesAccess, path: string, signal: AbortSignal): Promise<IncomingMessage> {
  const url = new URL(path, access.apiUrl);
  const headers = { authorization: `Bearer ${(await access.token()).reveal()}`, accept: "application/json" };
  const send = url.protocol === "http:" ? requestHttp : requestHttps;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const options = { headers, signal, agent: false, ...(access.ca !== undefined && { ca: access.ca }) };
    const sent = send(url, options, (answer) => {
      // From here on silence is normal: a watch tells nothing for as long as nothing changes.
      sent.setTimeout(0);
      resolve(answer);
    });
    sent.setSocketKeepAlive(true, KEEPALIVE_MS);
    sent.setTimeout(REQUEST_LIMIT_MS, () => sent.destroy(new Error("no answer in time")));
    sent.on("error", (cause) =>
      reject(new KubernetesError("unreachable", `Kubernetes API at ${url.host}: ${errorMessage(cause)}`, { cause })),
    );
    sent.end();
  });
  if (response.statusCode === 200) return response;
  response.resume();
  const code = response.statusCode === GONE ? "gone" : "refused";
  throw new KubernetesError(code, `Kubernetes API at ${url.host}: GET ${url.pathname} answered ${response.statusCode}`);
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
    const response = await openGet(access, `${secretsPath(namespace)}/${encodeURIComponent(name)}`, signal);
    return parseSecret(parseJson(await readText(response)));
  } catch (failure) {
    if (failure instanceof KubernetesError && failure.message.endsWith(` ${NOT_FOUND}`)) return undefined;
    throw failure;
  }
}

export function secretsPath(namespace: string): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`;
}

export async function readText(response: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += String(chunk);
  return text;
}

/** JSON.parse quotes its input in the message, which here is somebody's secret. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
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
