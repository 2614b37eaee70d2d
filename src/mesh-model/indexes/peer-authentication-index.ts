import type { ConfigObject } from "../../istio-api/config-object.ts";
import type { MutualTls } from "../../istio-api/specs.ts";
import { groupBy, sameElements } from "../lists.ts";
import type { MtlsMode, NamespaceModes } from "../push-snapshot.ts";
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
  /** Of all workloads of a namespace; the same value while it stays the same. */
  modesIn(namespace: string): NamespaceModes;
  readonly namespaces: ReadonlyMap<string, NamespaceModes>;
  readonly mesh: NamespaceModes;
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
  const inherited = modeOf(wholeNamespace(byNamespace.get(rootNamespace))?.spec.mtls, "PERMISSIVE");
  const mesh = toModes(inherited, [], previous?.mesh);
  const namespaces = new Map<string, NamespaceModes>();
  for (const [namespace, objects] of byNamespace) {
    const mode = modeOf(wholeNamespace(objects)?.spec.mtls, inherited);
    // The root namespace speaks for the mesh as a whole, never for single workloads.
    const forWorkloads = namespace === rootNamespace ? [] : objects.filter(hasSelector);
    namespaces.set(namespace, toModes(mode, forWorkloads, previous?.namespaces.get(namespace)));
  }
  const modesIn = (namespace: string) => namespaces.get(namespace) ?? mesh;
  return {
    given,
    rootNamespace,
    namespaces,
    mesh,
    modesIn,
    ofNamespace: (namespace) => modesIn(namespace).mode,
    ofWorkload: (namespace, labels) => {
      const { mode: whole, forWorkloads } = modesIn(namespace);
      const policy = policyFor(forWorkloads, labels);
      const mode = modeOf(policy?.spec.mtls, whole);
      const ports = Object.entries(policy?.spec.portLevelMtls ?? {});
      if (ports.length === 0) return { mode, ports: NO_PORTS };
      return { mode, ports: new Map(ports.map(([port, mtls]) => [Number(port), modeOf(mtls, mode)])) };
    },
  };
}

function toModes(
  mode: MtlsMode,
  forWorkloads: readonly PeerAuthentication[],
  known: NamespaceModes | undefined,
): NamespaceModes {
  if (known?.mode === mode && sameElements(known.forWorkloads, forWorkloads)) return known;
  return {
    mode,
    forWorkloads,
    ofPort: (labels, port) => {
      const policy = policyFor(forWorkloads, labels);
      return modeOf(policy?.spec.portLevelMtls?.[port], modeOf(policy?.spec.mtls, mode));
    },
  };
}

function policyFor(policies: readonly PeerAuthentication[], labels: Labels): PeerAuthentication | undefined {
  return policies.find(({ spec }) => selects(spec.selector?.matchLabels ?? {}, labels));
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
