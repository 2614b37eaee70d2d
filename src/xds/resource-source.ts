import type { ProxyView } from "../mesh-model/push-snapshot.ts";

/** The xDS types that are generated, by their short names. */
export type XdsType = "CDS" | "EDS" | "LDS" | "RDS" | "NDS" | "PCDS" | "ECDS";

/** One resource, encoded once and shared by all proxies that get it. */
export interface EncodedResource {
  readonly name: string;
  /** Follows from the content: equal content has an equal version, in every process. */
  readonly version: string;
  /** An encoded google.protobuf.Any. */
  readonly any: Buffer;
  /** The patch that brought it along, as users know it. */
  readonly addedBy?: string;
}

/** Resources of one type for one proxy. Proxies alike get the same value. */
export interface ResourceSet {
  readonly resources: readonly EncodedResource[];
  /** Follows from names and versions of the resources. */
  readonly version: string;
  /**
   * All resources as field 2 of a DiscoveryResponse, in pieces that follow each other on the wire: what many proxies share is one
   * piece, what is a proxy's own another. Made at first use, then shared by every stream that sends them; nobody copies them.
   */
  readonly sotwBody: readonly Buffer[];
  /** The resources in the lists that are shared with other sets. */
  readonly parts: readonly (readonly EncodedResource[])[];
  get(name: string): EncodedResource | undefined;
}

/** Makes resources; knows nothing of streams. */
export interface ResourceSource {
  /** All resources of a type that has wildcard subscriptions (CDS, LDS, NDS, PCDS). */
  all(view: ProxyView, type: XdsType): ResourceSet;
  /** The named ones, in that order. A name that nothing is known of yields an empty resource for EDS and RDS, and nothing for others. */
  named(view: ProxyView, type: XdsType, names: readonly string[]): ResourceSet;
}
