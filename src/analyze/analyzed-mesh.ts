import type { YamlPath } from "../files/yaml/locate-yaml.ts";
import type { ConfigObject } from "../istio-api/config-object.ts";
import type { DecodedObject } from "../istio-api/decode/decode-object.ts";
import type { Kind } from "../istio-api/kinds.ts";
import type { MeshSettings } from "../mesh-model/mesh-settings.ts";
import type { OutboundScope, PushSnapshot } from "../mesh-model/push-snapshot.ts";
import type { Service } from "../mesh-model/service.ts";

type Labels = Readonly<Record<string, string>>;

/** An object as it was given, of any kind, with its place in a file. */
export interface AnalyzedObject {
  readonly kind: string;
  readonly apiVersion: string;
  /** Empty for objects of the whole cluster. */
  readonly namespace: string;
  readonly name: string;
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly body: Readonly<Record<string, unknown>>;
  readonly locate?: (path: YamlPath) => { readonly file: string; readonly line: number };
  /** Of rule objects: what decoding and validation say. */
  readonly decoded?: DecodedObject;
}

/** A rule object that was understood, with the document it comes from; it may be refused for other mistakes. */
export interface AnalyzedRule<Of extends Kind> {
  readonly document: AnalyzedObject;
  readonly rule: ConfigObject<Of>;
}

/** What analyzers ask: the objects, and the mesh that the control plane makes of them. */
export interface AnalyzedMesh {
  readonly objects: readonly AnalyzedObject[];
  readonly settings: MeshSettings;
  readonly snapshot: PushSnapshot;
  of(kind: string): readonly AnalyzedObject[];
  /** Objects of the whole cluster have no namespace. */
  named(kind: string, namespace: string, name: string): AnalyzedObject | undefined;
  /** Objects of a kind in one namespace. */
  inNamespace(kind: string, namespace: string): readonly AnalyzedObject[];
  /** Pods with these labels, of one namespace or of all. */
  podsWith(labels: Labels, namespace?: string): readonly AnalyzedObject[];
  /** Services of the namespace that lead to what has these labels. */
  servicesSelecting(labels: Labels, namespace: string): readonly AnalyzedObject[];
  rules<Of extends Kind>(kind: Of): readonly AnalyzedRule<Of>[];
  /** What is wrong with a PEM certificate chain now: unreadable, expired, not valid yet. */
  certificateProblem(pem: string): string | undefined;
  /** What a sidecar without labels sees that runs in the namespace. */
  seenFrom(namespace: string): OutboundScope;
  /** Services of a host name as a rule of the namespace means it; several when objects share its ports among them. */
  servicesNamed(namespace: string, host: string): readonly Service[];
  /** Services of the whole mesh whose host covers the name, or is covered by it. */
  servicesMeeting(host: string): readonly Service[];
}
