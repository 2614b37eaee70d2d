import type { Http2Response } from "../net/http2/open-http2-session.ts";
import { KubernetesError } from "./kubernetes-error.ts";
import { type ApiObject, asObject, type ObjectList } from "./objects.ts";
import { decodeStatus, PROTOBUF } from "./protobuf/envelope.ts";

/** Rejects an answer that is not a page of objects. `what` is verb and resource. */
export function toList(answer: unknown, what: string): ObjectList {
  const { items, metadata, apiVersion, kind } = (answer ?? {}) as {
    items?: unknown;
    metadata?: { resourceVersion?: unknown; continue?: unknown };
    apiVersion?: string;
    kind?: string;
  };
  if (typeof metadata?.resourceVersion !== "string" || !(items === null || items === undefined || Array.isArray(items)))
    throw new KubernetesError("bad-answer", `cannot ${what}: the answer is not a list`);
  const objects: ApiObject[] = [];
  // Items of a list carry no kind of their own.
  const itemKind = kind?.replace(/List$/, "");
  for (const item of items ?? []) {
    const object = asObject(item);
    if (object === undefined) throw new KubernetesError("bad-answer", `cannot ${what}: an item is not an object`);
    const named = {
      ...(apiVersion !== undefined && { apiVersion }),
      ...(itemKind !== undefined && { kind: itemKind }),
    };
    objects.push(object.kind === undefined ? { ...named, ...object } : object);
  }
  const next = metadata.continue;
  return {
    items: objects,
    resourceVersion: metadata.resourceVersion,
    continueToken: typeof next === "string" && next !== "" ? next : undefined,
  };
}

export async function bodyBytes({ body }: Http2Response): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export function isProtobuf({ headers }: Http2Response): boolean {
  return headerText(headers["content-type"])?.startsWith(PROTOBUF) ?? false;
}

/** What a server says instead of an answer: an object, or its text. */
export async function failureBody(response: Http2Response): Promise<unknown> {
  const bytes = await bodyBytes(response);
  if (isProtobuf(response)) return decodeStatus(bytes) ?? "";
  const text = bytes.toString("utf8");
  return parseAnswer(text) ?? text;
}

/** Undefined where it is not JSON. */
export function parseAnswer(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function headerText(value: string | string[] | undefined): string | undefined {
  return typeof value === "string" ? value : value?.[0];
}
