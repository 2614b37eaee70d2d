import type { Http2Response } from "../net/http2/open-http2-session.ts";
import { KubernetesError } from "./kubernetes-error.ts";
import { asObject, type KubernetesObject, type ObjectList } from "./objects.ts";

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
  const objects: KubernetesObject[] = [];
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

export async function bodyText({ body }: Http2Response): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
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
