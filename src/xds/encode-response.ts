import { WireWriter } from "../protobuf/wire/wire-writer.ts";
import type { XdsProtocol } from "./methods.ts";
import type { EncodedResource } from "./resource-source.ts";

/** What is a stream's own in a response; the resources in between are shared with others. */
export interface ResponseHead {
  readonly version: string;
  readonly typeUrl: string;
  readonly nonce: string;
}

export interface ResponseContent {
  /** Resources that are encoded already, as `sotwBody` or `deltaBody` return them. */
  readonly body: readonly Buffer[];
  /** Delta only. */
  readonly removed?: readonly string[];
  /** SotW only: the server's identifier, as JSON. */
  readonly controlPlane?: string;
}

const VERSION = 1;
const RESOURCES = 2;
const TYPE_URL = 4;
const NONCE = 5;
/** Of a DeltaDiscoveryResponse `removed_resources`, of a DiscoveryResponse `control_plane`. */
const REMOVED = 6;
const CONTROL_PLANE = 6;

/** A DiscoveryResponse or DeltaDiscoveryResponse in pieces that follow each other on the wire. */
export function encodeResponse(protocol: XdsProtocol, head: ResponseHead, content: ResponseContent): readonly Buffer[] {
  const start = new WireWriter();
  if (head.version !== "") start.string(VERSION, head.version);
  const end = new WireWriter();
  end.string(TYPE_URL, head.typeUrl);
  end.string(NONCE, head.nonce);
  if (protocol === "delta") for (const name of content.removed ?? []) end.string(REMOVED, name);
  else if (content.controlPlane !== undefined) end.bytes(CONTROL_PLANE, encodeIdentifier(content.controlPlane));
  return [start.finish(), ...content.body, end.finish()];
}

function encodeIdentifier(identifier: string): Buffer {
  const writer = new WireWriter();
  writer.string(1, identifier);
  return writer.finish();
}

const sotwBodies = new WeakMap<readonly EncodedResource[], Buffer>();
const deltaBodies = new WeakMap<readonly EncodedResource[], Buffer>();

/** The resources as field 2 of a DiscoveryResponse; memoized by list. */
export function sotwBody(resources: readonly EncodedResource[]): Buffer {
  return memoized(sotwBodies, resources, (writer, { any }) => writer.bytes(RESOURCES, any));
}

/** The resources as field 2 of a DeltaDiscoveryResponse; memoized by list. */
export function deltaBody(resources: readonly EncodedResource[]): Buffer {
  return memoized(deltaBodies, resources, (writer, { name, version, any }) => {
    const entry = new WireWriter();
    entry.string(1, version);
    entry.bytes(2, any);
    entry.string(3, name);
    writer.bytes(RESOURCES, entry.finish());
  });
}

function memoized(
  bodies: WeakMap<readonly EncodedResource[], Buffer>,
  resources: readonly EncodedResource[],
  write: (writer: WireWriter, resource: EncodedResource) => void,
): Buffer {
  const known = bodies.get(resources);
  if (known !== undefined) return known;
  const writer = new WireWriter();
  for (const resource of resources) write(writer, resource);
  // The writer's buffer may be twice as large as its content, and bodies live long.
  const body = Buffer.from(writer.finish());
  bodies.set(resources, body);
  return body;
}
