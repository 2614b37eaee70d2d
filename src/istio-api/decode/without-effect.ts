const NO_TARGETS =
  "objects with a target are for gateways of the Gateway API, which are not served: it reaches no proxy";
const TARGETS = { targetRef: NO_TARGETS, targetRefs: NO_TARGETS };
const V1ALPHA3 = "istio.networking.v1alpha3";

/**
 * Members of rule objects that nothing here gives an effect to, by message, and what to do instead. Whoever sets one is warned. A test
 * changes every field of every kind and fails for one that shows nowhere and is not here.
 */
export const WITHOUT_EFFECT: ReadonlyMap<string, Readonly<Record<string, string>>> = new Map<
  string,
  Readonly<Record<string, string>>
>([
  [`${V1ALPHA3}.L4MatchAttributes`, { sourceSubnet: "an AuthorizationPolicy with ipBlocks says who may connect" }],
  [
    `${V1ALPHA3}.OutlierDetection`,
    {
      outlierDetectionHttpErrorCodes: "Envoy counts statuses from 500 on",
    },
  ],
  [`${V1ALPHA3}.Server`, { defaultEndpoint: "routes of VirtualServices say where requests go" }],
  [`${V1ALPHA3}.ServerTLSSettings`, { insecureSkipVerify: "certificates that clients are asked for are verified" }],
  [`${V1ALPHA3}.EnvoyFilter`, { targetRefs: NO_TARGETS }],
  [`${V1ALPHA3}.EnvoyFilter.EnvoyConfigObjectMatch`, { waypoint: "there are no waypoints" }],
  [`${V1ALPHA3}.EnvoyFilter.ListenerMatch`, { portName: "listeners are found by portNumber or name" }],
  [`${V1ALPHA3}.EnvoyFilter.Patch`, { filterClass: "a filter stands where operation and match put it" }],
  ["istio.security.v1beta1.AuthorizationPolicy", TARGETS],
  ["istio.security.v1beta1.RequestAuthentication", TARGETS],
  ["istio.telemetry.v1alpha1.Telemetry", TARGETS],
  [
    "istio.extensions.v1alpha1.WasmPlugin",
    { ...TARGETS, verificationKey: "signatures of images are not looked at; sha256 pins a module" },
  ],
]);

const GATEWAY_API = "the Gateway API is not served; the kinds Gateway and VirtualService of networking.istio.io are";

/** What to do about kinds that people expect to be read, by the group of their API. */
const EXPECTED: readonly (readonly [RegExp, string])[] = [
  [/^v1 Service$/, "Services are read from a cluster alone; here a ServiceEntry describes a service"],
  [
    /^(v1|discovery\.k8s\.io\/v1) (Endpoints|EndpointSlice|Pod)$/,
    "a ServiceEntry or WorkloadEntry describes endpoints here",
  ],
  [/^gateway\.networking\.k8s\.io\//, GATEWAY_API],
  [/^extensions\.istio\.io\/\S+ TrafficExtension$/, "a WasmPlugin, or an EnvoyFilter with a Lua filter, does the same"],
];

/** Why a document of a kind that is none of ours does nothing. */
export function ignoredKindText(apiVersion: unknown, kind: string): string {
  const name = `${typeof apiVersion === "string" ? apiVersion : "(no apiVersion)"} ${kind}`;
  const hint = EXPECTED.find(([pattern]) => pattern.test(name))?.[1];
  return `${name} is not a kind that is read: it has no effect${hint === undefined ? "" : `; ${hint}`}`;
}
