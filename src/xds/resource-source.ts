import type { XdsType } from "./xds-types.ts";

/** One resource, encoded once and shared by all streams that send it. */
export interface EncodedResource {
  readonly name: string;
  /** Follows from the content: equal content has an equal version, in every process. */
  readonly version: string;
  /** An encoded google.protobuf.Any. */
  readonly any: Buffer;
  /** The patch that added it, as users know it. */
  readonly addedBy?: string;
  /** A Secret, `namespace/name`, that is to be filled in for each client who may have it. */
  readonly pullSecret?: { readonly key: string; readonly complete: (secret: string) => EncodedResource };
}

/** Resources of one type for one client. Equal clients get the same value. */
export interface ResourceSet {
  readonly resources: readonly EncodedResource[];
  /** Follows from names and versions of the resources. */
  readonly version: string;
  /**
   * All resources as field 2 of a DiscoveryResponse, in pieces that follow each other on the wire: what many clients share is one
   * piece, what is a client's own another. Encoded at first use, then shared by every stream that sends them, without a copy.
   */
  readonly sotwBody: readonly Buffer[];
  /** The resources in the lists that are shared with other sets. */
  readonly parts: readonly (readonly EncodedResource[])[];
  /** Of a set that is one after another. */
  readonly joined?: readonly [ResourceSet, ResourceSet];
  get(name: string): EncodedResource | undefined;
}

/** Generates resources for clients; knows nothing of streams. `View` is what the source knows about one client. */
export interface ResourceSource<View> {
  /** All resources of a type that has wildcard subscriptions (CDS, LDS, NDS, PCDS). */
  all(view: View, type: XdsType): ResourceSet;
  /** The named ones, in that order. An unknown name yields an empty resource for EDS and RDS, and nothing for others. */
  named(view: View, type: XdsType, names: readonly string[]): ResourceSet;
}
