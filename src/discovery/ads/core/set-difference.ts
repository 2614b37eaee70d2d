import { WireWriter } from "../../../protobuf/wire/wire-writer.ts";
import type { EncodedResource, ResourceSet } from "../../../xds/resource-source.ts";

/** What has to be told to somebody who has one set and should have another. Computed once for all clients that are alike. */
export interface SetDifference {
  /** New or of another version, in the order of the new set. */
  readonly changed: readonly EncodedResource[];
  readonly removed: readonly string[];
}

const NONE: SetDifference = { changed: [], removed: [] };
const known = new WeakMap<ResourceSet, WeakMap<ResourceSet, SetDifference>>();

export function setDifference(from: ResourceSet | undefined, to: ResourceSet): SetDifference {
  if (from === undefined) return { changed: to.resources, removed: [] };
  if (from === to || from.version === to.version) return NONE;
  const later = known.get(from) ?? new WeakMap<ResourceSet, SetDifference>();
  known.set(from, later);
  const found = later.get(to);
  if (found !== undefined) return found;
  const difference = {
    changed: to.resources.filter(({ name, version }) => from.get(name)?.version !== version),
    removed: from.resources.filter(({ name }) => to.get(name) === undefined).map(({ name }) => name),
  };
  later.set(to, difference);
  return difference;
}

/** What has to be told to a client that says itself what it holds. */
export function heldDifference(held: ReadonlyMap<string, string>, to: ResourceSet): SetDifference {
  // The list itself, whose encoding is shared by all who come with nothing.
  if (held.size === 0) return { changed: to.resources, removed: [] };
  return {
    changed: to.resources.filter(({ name, version }) => held.get(name) !== version),
    removed: [...held.keys()].filter((name) => to.get(name) === undefined).sort(),
  };
}

const sotwBodies = new WeakMap<readonly EncodedResource[], Buffer>();
const deltaBodies = new WeakMap<readonly EncodedResource[], Buffer>();

/** The resources as field 2 of a DiscoveryResponse; equal lists give one buffer. */
export function sotwBody(resources: readonly EncodedResource[]): Buffer {
  return shared(sotwBodies, resources, (writer, { any }) => writer.bytes(2, any));
}

/** The resources as field 2 of a DeltaDiscoveryResponse; equal lists give one buffer. */
export function deltaBody(resources: readonly EncodedResource[]): Buffer {
  return shared(deltaBodies, resources, (writer, { name, version, any }) => {
    const entry = new WireWriter();
    entry.string(1, version);
    entry.bytes(2, any);
    entry.string(3, name);
    writer.bytes(2, entry.finish());
  });
}

function shared(
  bodies: WeakMap<readonly EncodedResource[], Buffer>,
  resources: readonly EncodedResource[],
  write: (writer: WireWriter, resource: EncodedResource) => void,
): Buffer {
  const found = bodies.get(resources);
  if (found !== undefined) return found;
  const writer = new WireWriter();
  for (const resource of resources) write(writer, resource);
  // The writer's buffer may be twice as large as its content, and bodies live long.
  const body = Buffer.from(writer.finish());
  bodies.set(resources, body);
  return body;
}
