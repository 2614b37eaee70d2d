import { errorMessage } from "../base/coded-error.ts";
import { asJsonObject } from "../base/json-object.ts";
import { InjectError, type ReviewCall } from "../inject/index.ts";
import type { ApiObject, KubernetesClient } from "../kubernetes/index.ts";
import { httpRequest } from "../net/http-client/http-request.ts";

type Document = Readonly<Record<string, unknown>>;

export interface WebhookSearch {
  readonly client: Pick<KubernetesClient, "list" | "get" | "post">;
  /** Empty: the default one. */
  readonly revision: string;
  /** HOST[:PORT] of the injector where its Service selects no pods; empty: none. */
  readonly xdsAddress: string;
}

const CONFIGURATIONS = {
  group: "admissionregistration.k8s.io",
  version: "v1",
  plural: "mutatingwebhookconfigurations",
};
const ENTRY_SUFFIX = "sidecar-injector.istio.io";
const TIMEOUT_MS = 5000;
const MAX_BYTES = 16 * 1024 * 1024;

/** The webhook by which API servers of the cluster inject pods of the revision; undefined where there is none. */
export async function findInjectionWebhook(search: WebhookSearch): Promise<ReviewCall | undefined> {
  const { client, revision } = search;
  const labelSelector = `istio.io/rev=${revision || "default"}`;
  const { items } = await client.list({ ...CONFIGURATIONS, labelSelector });
  for (const item of items) {
    const entry = listOf(item.webhooks).find(({ name }) => String(name).endsWith(ENTRY_SUFFIX));
    if (entry !== undefined) return callOf(item, asJsonObject(entry.clientConfig), search);
  }
  return undefined;
}

async function callOf(
  { metadata }: ApiObject,
  clientConfig: Document,
  { client, xdsAddress }: WebhookSearch,
): Promise<ReviewCall> {
  const name = `webhook ${metadata.name}`;
  const { url, caBundle } = clientConfig;
  const ca = typeof caBundle === "string" && caBundle !== "" ? Buffer.from(caBundle, "base64") : undefined;
  if (typeof url === "string") return { name, call: (review) => post(url, review, { name, ca }) };
  const service = asJsonObject(clientConfig.service);
  const [host, namespace] = [String(service.name ?? ""), String(service.namespace ?? "")];
  const [port, path] = [Number(service.port ?? 443), String(service.path ?? "/")];
  if (xdsAddress !== "" && !(await selectsPods(client, namespace, host))) {
    const servername = `${host}.${namespace}.svc`;
    const at = new URL(`https://${xdsAddress.replace(/:\d+$/, "")}:15017${path}`);
    return { name, call: (review) => post(at, review, { name, ca, servername }) };
  }
  // The API server passes it on, as it does with a pod that is created.
  const proxied = `/api/v1/namespaces/${namespace}/services/https:${host}:${port}/proxy${path}`;
  return { name, call: (review) => client.post(proxied, review) };
}

async function selectsPods(client: WebhookSearch["client"], namespace: string, name: string): Promise<boolean> {
  const service = await client.get({ group: "", version: "v1", plural: "services", namespace }, name);
  return Object.keys(asJsonObject(asJsonObject(service.spec).selector)).length > 0;
}

interface Endpoint {
  readonly name: string;
  /** The system's where there is none. */
  readonly ca: Buffer | undefined;
  readonly servername?: string;
}

async function post(url: string | URL, review: object, { name, ca, servername }: Endpoint): Promise<unknown> {
  try {
    const { status, body } = await httpRequest({
      url,
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(review),
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
      tls: { ...(ca && { ca }), ...(servername !== undefined && { servername }) },
    });
    if (status !== 200) throw new Error(`status ${status}: ${body.slice(0, 200).trim()}`);
    return JSON.parse(body) as unknown;
  } catch (failure) {
    throw new InjectError("refused", `${name} at ${url} cannot be asked: ${errorMessage(failure)}`, { cause: failure });
  }
}

function listOf(value: unknown): readonly Document[] {
  return Array.isArray(value) ? value.map(asJsonObject) : [];
}
