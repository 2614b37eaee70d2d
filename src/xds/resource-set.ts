import { hash } from "node:crypto";
import { memoize } from "../base/memoize.ts";
import { MessageBuffer } from "../protobuf/wire/message-buffer.ts";
import { WIRE_BYTES } from "../protobuf/wire/wire-reader.ts";
import type { EncodedResource, ResourceSet } from "./resource-source.ts";

/** Field `resources` of a DiscoveryResponse. */
const RESOURCES = 2;

/** Short, and the same in every process. */
export function contentVersion(content: Buffer | string): string {
  return hash("sha256", content, "base64url").slice(0, 16);
}

/** Everything that is derived from the resources is made when it is first asked for. */
export function createResourceSet(resources: readonly EncodedResource[]): ResourceSet {
  const index = memoize(() => new Map(resources.map((resource) => [resource.name, resource])));
  const version = memoize(() => contentVersion(resources.map(({ name, version }) => `${name}\n${version}\n`).join("")));
  const body = memoize(() => (resources.length === 0 ? [] : [encodeBody(resources)]));
  return {
    resources,
    parts: [resources],
    get version() {
      return version();
    },
    get sotwBody() {
      return body();
    },
    get: (name) => index().get(name),
  };
}

/** One set after another; the pieces stay shared. */
export function joinSets(first: ResourceSet, second: ResourceSet): ResourceSet {
  if (second.resources.length === 0) return first;
  if (first.resources.length === 0) return second;
  const resources = memoize(() => [...first.resources, ...second.resources]);
  const version = memoize(() => `${first.version}.${second.version}`);
  return {
    joined: [first, second],
    get resources() {
      return resources();
    },
    get parts() {
      return [...first.parts, ...second.parts];
    },
    get version() {
      return version();
    },
    get sotwBody() {
      return [...first.sotwBody, ...second.sotwBody];
    },
    get: (name) => first.get(name) ?? second.get(name),
  };
}

function encodeBody(resources: readonly EncodedResource[]): Buffer {
  const out = new MessageBuffer(resources.reduce((sum, { any }) => sum + any.length + 8, 0));
  for (const { any } of resources) {
    out.tag(RESOURCES, WIRE_BYTES);
    out.bytes(any);
  }
  return out.finish();
}
