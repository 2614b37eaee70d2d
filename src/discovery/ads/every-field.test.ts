import { expect, test } from "vitest";
import { changeEveryField } from "../../../test/support/mesh-model/change-every-field.ts";
import { fieldPaths, formatFieldPath } from "../../../test/support/mesh-model/field-changes.ts";
import { WITHOUT_EFFECT } from "../../istio-api/decode/without-effect.ts";
import { istioMessage, KINDS, type Kind } from "../../istio-api/kinds.ts";

/** An object with a target reaches nobody, which is a difference to one without. */
const TARGETS = /^targetRefs?\b/;

/** Of the random part of the mesh. */
const SEED = Number(process.env.MODEL_SEED ?? 21);

/** The one thing that a policy may be bound to. */
const TARGET = ["targetRef.group", "targetRef.kind"];
const OWN_CERTIFICATES = ["caCertificates", "privateKey", "serverCertificate"].map(
  (name) => `tlsCertificates[].${name}`,
);

/** Fields that alone can have no other value than in the object of the test: others have to change with them, or none is allowed. */
const FIXED: Readonly<Partial<Record<Kind, readonly string[]>>> = {
  ServiceEntry: ["ports[].name", "workloadSelector.labels{}"],
  WorkloadGroup: ["probe.grpc.service", "probe.httpGet.httpHeaders[].value"],
  DestinationRule: ["trafficPolicy.portLevelSettings[].port.number"],
  Sidecar: [
    "ingress[].port.targetPort",
    ...["caCrl", "credentialName", ...OWN_CERTIFICATES].map((name) => `ingress[].tls.${name}`),
  ],
  Gateway: ["servers[].port.targetPort", ...["caCrl", ...OWN_CERTIFICATES].map((name) => `servers[].tls.${name}`)],
  EnvoyFilter: ["targetRefs[].group", "targetRefs[].kind"],
  RequestAuthentication: TARGET,
  AuthorizationPolicy: ["provider.name", "rules[].when[].key", ...TARGET],
  Telemetry: TARGET,
  WasmPlugin: ["sha256", ...TARGET],
};

/**
 * Fields that show in nothing that the clients of the test are sent and have an effect all the same: where other objects are there as well,
 * where another field is set, or elsewhere than in what is sent. Whatever else shows nowhere has to be in WITHOUT_EFFECT, so that
 * whoever sets it is told.
 */
const ELSEWHERE: Readonly<Partial<Record<Kind, readonly RegExp[]>>> = {
  // Several networks; labels of endpoints that no subset asks for.
  ServiceEntry: [/network$/, /^endpoints\[\]\.labels/],
  // The port is one that the selecting service does not name.
  WorkloadEntry: [/^network$/, /^ports/],
  // Entries of workloads that register are made of it, and tools write the probe into configurations of machines.
  WorkloadGroup: [/./],
  // A sole destination takes all; delegates and TLS routes need objects of their own; the old share needs a mirror.
  VirtualService: [/weight$/, /^tls\[\]/, /delegate/, /mirrorPercent$/],
  // Ports that speak HTTP/2 already; the old count is warned about by its own rule.
  DestinationRule: [/h2UpgradePolicy$/, /consecutiveErrors$/],
  // Own TLS counts where mutual TLS is off; the rest is about redirection and names.
  Sidecar: [/\.tls\./, /captureMode$/, /ingress\[\]\.(bind|port\.name)$/, /h2UpgradePolicy$/],
  // Of files and Secrets, and about clients' certificates, which another mode asks for; names are in route names.
  Gateway: [/name$/, /\.tls\./],
  // Order among several; what the one route of the test does not have.
  EnvoyFilter: [/^priority$/, /vhost\.route\./, /listenerFilter$/],
  // At injection.
  ProxyConfig: [/./],
  PeerAuthentication: [/^selector/],
  // Keys are fetched by the control plane.
  RequestAuthentication: [/timeout$/, /jwksUri$/],
  // Excluded by the namespaces of the same source.
  AuthorizationPolicy: [/erviceAccounts\[\]$/],
  // Chains of the other layer; order among several; a variable that is the host's has no value.
  WasmPlugin: [/^type$/, /^priority$/, /valueFrom$/],
  // Its own validation tells of what it cannot do.
  Telemetry: [/./],
};

/** The message and the name of the field at the end of a path. */
function declared(kind: Kind, path: string): string | undefined {
  const found = fieldPaths(istioMessage(KINDS[kind].spec)).find((one) => formatFieldPath(one) === path);
  return found
    ?.map(({ table, field }) => WITHOUT_EFFECT.get(table.name)?.[field.name])
    .find((text) => text !== undefined);
}

/** Kinds of which little or nothing is in what proxies are sent. */
const UNSEEN: ReadonlySet<Kind> = new Set(["WorkloadGroup", "ProxyConfig", "Telemetry"]);

test.each(Object.keys(KINDS) as Kind[])(
  "whichever field of %s changes, what is sent is what a new control plane would send, or the field says that it does nothing",
  async (kind) => {
    const { changed, unchanged, shown } = await changeEveryField({ kind, seed: SEED, isDeep: false });
    expect([...unchanged].sort()).toEqual([...(FIXED[kind] ?? [])].sort());
    const isElsewhere = (field: string) => ELSEWHERE[kind]?.some((pattern) => pattern.test(field)) === true;
    const silent = changed.filter((field) => !shown.includes(field) && !isElsewhere(field));
    // Nobody sets such a field and waits in vain, and nobody is told so of one that does something.
    expect(silent.filter((field) => declared(kind, field) === undefined)).toEqual([]);
    expect(shown.filter((field) => declared(kind, field) !== undefined && !TARGETS.test(field))).toEqual([]);
    // Without a difference to be seen there would be nothing to compare.
    if (!UNSEEN.has(kind)) expect(shown.length).toBeGreaterThan(changed.length * 0.4);
  },
  // Some kinds have a hundred fields.
  180_000,
);
