import type { TestObject } from "../../support/mesh-model/test-objects.ts";
import { list, object, objects, text } from "../discovery/json.ts";

/** A difference, whose answer it is in, and the mesh that was asked about. */
export interface Found {
  /** As the comparer writes it: path, what the peer said, what was said here. */
  readonly difference: string;
  readonly node: ComparedNode;
  readonly mesh: readonly TestObject[];
}

export interface ComparedNode {
  readonly address: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly isRouter: boolean;
  readonly isIntercepted: boolean;
}

/** Differences that are meant, each described in docs/discovery.md. A reason counts only in a mesh that has what it speaks of. */
const REASONS: readonly (readonly [string, (found: Found) => boolean])[] = [
  ["services that share an address and a port share its listener", isSharedListener],
  ["of the hosts of one ServiceEntry the peer gives its address to any one", isAddressOfSeveral],
  ["objects that describe one host in one namespace all count, the peer serves one of them", isDescribedTwice],
  [
    "the oldest object of a namespace says what a port of a host carries, the peer serves routes of a younger one",
    isOfOtherProtocol,
  ],
  [
    "endpoints of one object are not listened on for another object of the host that has no address",
    isOfOthersEndpoint,
  ],
  ["nobody sees a service that is not exported to them, also in its own namespace", isNotExported],
  ["gateways prefer services of their own namespace, as sidecars do", isOfOwnNamespace],
  ["labels that only the proxy has stay", hasOwnLabels],
  ["hosts that only rules show are served on the ports of their destinations", isShownByRules],
];

/** Why a difference is as it should be; undefined: nobody knows. */
export function explained(found: Found): string | undefined {
  return REASONS.find(([, holds]) => holds(found))?.[0];
}

interface Entry {
  readonly namespace: string;
  readonly hosts: readonly string[];
  readonly addresses: readonly string[];
  readonly ports: readonly { readonly number: number; readonly isHttp: boolean }[];
  readonly exportTo: readonly string[];
  readonly resolution: string;
  readonly endpoints: readonly string[];
}

function entriesOf(mesh: readonly TestObject[]): readonly Entry[] {
  return mesh
    .filter(({ kind }) => kind === "ServiceEntry")
    .map(({ namespace = "default", spec }) => ({
      namespace,
      hosts: list(spec.hosts).map(text),
      addresses: list(spec.addresses).map(text),
      ports: objects(spec.ports).map(({ number, protocol }) => ({
        number: Number(number),
        isHttp: text(protocol) === "HTTP",
      })),
      resolution: text(spec.resolution ?? "NONE"),
      endpoints: objects(spec.endpoints).map(({ address }) => text(address)),
      exportTo: list(spec.exportTo ?? ["*"]).map((name) => (name === "." ? namespace : text(name))),
    }));
}

/** Hosts that meet on a port, of which one at least is not HTTP; without interception all services meet on one address. */
function isSharedListener({ difference, node, mesh }: Found): boolean {
  const [, address = "", digits = ""] =
    /^listeners\[([^_\]]+)_(\d+)\]\.(?:defaultFilterChain|filterChains|listenerFilters)/.exec(difference) ?? [];
  const [, route] = /^routes\[(\d+)\]: expected nothing, got "present"/.exec(difference) ?? [];
  const port = Number(digits || (route ?? 0));
  if (port === 0 || (route !== undefined && node.isIntercepted)) return false;
  const here = entriesOf(mesh).filter(
    ({ addresses, ports }) =>
      ports.some(({ number }) => number === port) && (!node.isIntercepted || addresses.includes(address)),
  );
  const hasBytes = here.some(({ ports }) => ports.some(({ number, isHttp }) => number === port && !isHttp));
  return hasBytes && here.flatMap(({ hosts }) => hosts).length > 1;
}

function isAddressOfSeveral({ difference, mesh }: Found): boolean {
  const [, host = ""] =
    /^routes\[[^\]]*\]\.virtualHosts\.(.+?):\d+\.domains\.(?:\(an address|[\d.]+:)/.exec(difference) ?? [];
  return entriesOf(mesh).some(
    ({ hosts, addresses }) => hosts.length > 1 && addresses.length > 0 && hosts.includes(host),
  );
}

const OUTBOUND = /^(?:clusters|endpoints)\[outbound\|\d+\|[^|]*\|([^\]]+)\]: expected (nothing|"present")/;

function describing({ difference, mesh }: Found): { readonly entries: readonly Entry[]; readonly isMore: boolean } {
  const [, host, wanted] = OUTBOUND.exec(difference) ?? [];
  const entries = host === undefined ? [] : entriesOf(mesh).filter(({ hosts }) => hosts.includes(host));
  return { entries, isMore: wanted === "nothing" };
}

/** Where they disagree on what a port carries, the peer may serve the one that is not HTTP. */
function isDescribedTwice(found: Found): boolean {
  const ofHost = moreHost(found);
  const { entries, isMore } =
    ofHost === undefined
      ? describing(found)
      : { entries: entriesOf(found.mesh).filter(({ hosts }) => hosts.includes(ofHost)), isMore: true };
  return (
    isMore && entries.some((one, at) => entries.some((other, of) => at !== of && other.namespace === one.namespace))
  );
}

/** A virtual host that is lacked here, of a port that carries bytes by one object and HTTP by another of the same namespace. */
function isOfOtherProtocol({ difference, mesh }: Found): boolean {
  const [, host = "", port] =
    /^routes\[\d+\]\.virtualHosts\.(.+):(\d+): expected \{.*got nothing$/.exec(difference) ?? [];
  const described = entriesOf(mesh)
    .filter(({ hosts }) => hosts.includes(host))
    .flatMap(({ namespace, ports }) =>
      ports.filter(({ number }) => number === Number(port)).map(({ isHttp }) => ({ namespace, isHttp })),
    );
  return described.some(
    (one) => one.isHttp && described.some((other) => !other.isHttp && other.namespace === one.namespace),
  );
}

/** A listener that only the peer has, where one object has the endpoint and another of the same host leads wherever a call was going. */
function isOfOthersEndpoint({ difference, mesh }: Found): boolean {
  const [, address = "", digits] =
    /^listeners\[([^_\]]+)_(\d+)\]: expected "present", got nothing$/.exec(difference) ?? [];
  const entries = entriesOf(mesh).filter(({ ports }) => ports.some(({ number }) => number === Number(digits)));
  return entries.some(
    (one) =>
      one.endpoints.includes(address) &&
      entries.some(
        (other) =>
          other !== one &&
          other.namespace === one.namespace &&
          other.resolution === "NONE" &&
          other.addresses.length === 0 &&
          other.hosts.some((host) => one.hosts.includes(host)),
      ),
  );
}

function isNotExported(found: Found): boolean {
  const { entries, isMore } = describing(found);
  const { node } = found;
  return !isMore && entries.some((entry) => entry.namespace === node.namespace && isHidden(entry, node));
}

/** The host of a virtual host that the peer does not have. */
function moreHost({ difference }: Pick<Found, "difference">): string | undefined {
  return /^routes\[\d+\]\.virtualHosts\.(.+):\d+: expected nothing, got \{/.exec(difference)?.[1];
}

/** A host may be that of a service which the caller does not see. */
function isShownByRules({ difference, node, mesh }: Found): boolean {
  const host = moreHost({ difference }) ?? "";
  const isRuled = mesh.some(({ kind, spec }) => kind === "VirtualService" && list(spec.hosts).includes(host));
  return isRuled && entriesOf(mesh).every((entry) => !entry.hosts.includes(host) || isHidden(entry, node));
}

function isHidden({ exportTo }: Entry, { namespace }: ComparedNode): boolean {
  return !["*", namespace].some((name) => exportTo.includes(name));
}

function isOfOwnNamespace({ difference, node, mesh }: Found): boolean {
  const [, host = ""] = /^(?:clusters|endpoints)\[outbound\|\d+\|[^|]*\|([^\]]+)\]/.exec(difference) ?? [];
  const entries = entriesOf(mesh).filter(({ hosts }) => hosts.includes(host));
  const namespaces = new Set(entries.map(({ namespace }) => namespace));
  return node.isRouter && namespaces.size > 1 && namespaces.has(node.namespace);
}

/** A registered endpoint says which labels the workload has; policies may select by one that only its proxy has. */
function hasOwnLabels({ difference, node, mesh }: Found): boolean {
  if (!difference.startsWith("listeners[virtualInbound]")) return false;
  const endpoints = mesh
    .filter(({ namespace = "default" }) => namespace === node.namespace)
    .flatMap(({ kind, spec }) =>
      kind === "ServiceEntry" ? objects(spec.endpoints) : kind === "WorkloadEntry" ? [object(spec)] : [],
    )
    .filter(({ address }) => address === node.address);
  const own = Object.keys(node.labels).filter((name) =>
    endpoints.some(({ labels }) => object(labels)[name] !== node.labels[name]),
  );
  return mesh.some(({ spec }) => {
    const wanted = object(object(spec.selector).matchLabels);
    return own.some((name) => wanted[name] === node.labels[name]);
  });
}
