import type { ConfigObject } from "../../istio-api/config-object.ts";
import type { MutualTls } from "../../istio-api/specs.ts";
import { groupBy, sameElements } from "../lists.ts";
import type { MtlsMode } from "../push-snapshot.ts";
import { selects } from "../selector.ts";

type PeerAuthentication = ConfigObject<"PeerAuthentication">;
type Labels = Readonly<Record<string, string>>;

export interface WorkloadMtls {
  readonly mode: MtlsMode;
  readonly ports: ReadonlyMap<number, MtlsMode>;
}

export interface PeerAuthenticationIndex {
  readonly given: readonly PeerAuthentication[];
  readonly rootNamespace: string;
  /** What holds for a namespace, as far as no workload is known. */
  ofNamespace(namespace: string): MtlsMode;
  ofWorkload(namespace: string, labels: Labels): WorkloadMtls;
  /** The mode of one port of a workload. */
  ofPort(namespace: string, labels: Labels, port: number): MtlsMode;
}

interface NamespacePolicies {
  readonly mode: MtlsMode;
  /** Those with a selector, oldest first. */
  readonly forWorkloads: readonly PeerAuthentication[];
}

const NO_PORTS: ReadonlyMap<number, MtlsMode> = new Map();

/** Mesh below namespace below workload; in each the oldest counts; what is not set is inherited, at last from PERMISSIVE. */
export function buildPeerAuthenticationIndex(
  given: readonly PeerAuthentication[],
  rootNamespace: string,
  previous?: PeerAuthenticationIndex,
): PeerAuthenticationIndex {
  if (previous?.rootNamespace === rootNamespace && sameElements(previous.given, given)) return previous;
  const byNamespace = groupBy(given, ({ namespace }) => namespace);
  const mesh = modeOf(wholeNamespace(byNamespace.get(rootNamespace))?.spec.mtls, "PERMISSIVE");
  const policies = new Map<string, NamespacePolicies>();
  for (const [namespace, objects] of byNamespace) {
    const mode = modeOf(wholeNamespace(objects)?.spec.mtls, mesh);
    // The root namespace speaks for the mesh as a whole, never for single workloads.
    policies.set(namespace, { mode, forWorkloads: namespace === rootNamespace ? [] : objects.filter(hasSelector) });
  }
  const ofNamespace = (namespace: string) => policies.get(namespace)?.mode ?? mesh;
  const workloadPolicy = (namespace: string, labels: Labels) =>
    policies.get(namespace)?.forWorkloads.find(({ spec }) => selects(spec.selector?.matchLabels ?? {}, labels));
  return {
    given,
    rootNamespace,
    ofNamespace,
    ofWorkload: (namespace, labels) => {
      const policy = workloadPolicy(namespace, labels);
      const mode = modeOf(policy?.spec.mtls, ofNamespace(namespace));
      const ports = Object.entries(policy?.spec.portLevelMtls ?? {});
      if (ports.length === 0) return { mode, ports: NO_PORTS };
      return { mode, ports: new Map(ports.map(([port, mtls]) => [Number(port), modeOf(mtls, mode)])) };
    },
    ofPort: (namespace, labels, port) => {
      const policy = workloadPolicy(namespace, labels);
      const mode = modeOf(policy?.spec.mtls, ofNamespace(namespace));
      return modeOf(policy?.spec.portLevelMtls?.[port], mode);
    },
  };
}

function hasSelector({ spec }: PeerAuthentication): boolean {
  return Object.keys(spec.selector?.matchLabels ?? {}).length > 0;
}

function wholeNamespace(objects: readonly PeerAuthentication[] | undefined): PeerAuthentication | undefined {
  return objects?.find((object) => !hasSelector(object));
}

function modeOf(mtls: MutualTls | undefined, inherited: MtlsMode): MtlsMode {
  return mtls === undefined || mtls.mode === "UNSET" ? inherited : mtls.mode;
}
