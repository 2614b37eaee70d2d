import { istioMessage, KINDS, type Kind } from "../kinds.ts";
import { messageSchema, type Schema } from "./message-schema.ts";

/** A CustomResourceDefinition of apiextensions.k8s.io/v1. */
export interface RuleDefinition {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly group: string;
    readonly scope: "Namespaced";
    readonly names: Readonly<Record<string, unknown>>;
    readonly versions: readonly DefinitionVersion[];
  };
}

interface DefinitionVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly schema: { readonly openAPIV3Schema: Schema };
  readonly [member: string]: unknown;
}

type Column = readonly [name: string, jsonPath: string, description: string];

interface Presentation {
  readonly plural: string;
  readonly shortNames?: readonly string[];
  /** Undefined: those of kubectl. */
  readonly columns?: readonly Column[];
  /** The newest version by default. */
  readonly storage?: string;
  readonly needsSpec?: boolean;
  readonly text: string;
}

const AGE: Column = ["Age", ".metadata.creationTimestamp", "When the object was created."];

/** How kubectl names and prints each kind. */
const PRESENTATION: Readonly<Record<Kind, Presentation>> = {
  AuthorizationPolicy: {
    plural: "authorizationpolicies",
    shortNames: ["ap"],
    columns: [["Action", ".spec.action", "What happens to requests that match."], AGE],
    text: "Who may call which workloads.",
  },
  DestinationRule: {
    plural: "destinationrules",
    shortNames: ["dr"],
    columns: [["Host", ".spec.host", "The service it applies to."], AGE],
    text: "How a service is called: load balancing, limits, TLS, subsets.",
  },
  EnvoyFilter: { plural: "envoyfilters", text: "Changes of the configuration that Envoys are sent." },
  Gateway: { plural: "gateways", shortNames: ["gw"], text: "Ports and hosts at the edge of the mesh." },
  PeerAuthentication: {
    plural: "peerauthentications",
    shortNames: ["pa"],
    columns: [["Mode", ".spec.mtls.mode", "Mutual TLS of all ports."], AGE],
    text: "Whether workloads ask for mutual TLS.",
  },
  ProxyConfig: { plural: "proxyconfigs", text: "Settings of proxies." },
  RequestAuthentication: {
    plural: "requestauthentications",
    shortNames: ["ra"],
    text: "Which tokens of users are accepted.",
  },
  ServiceEntry: {
    plural: "serviceentries",
    shortNames: ["se"],
    columns: [
      ["Hosts", ".spec.hosts", "Names of the service."],
      ["Location", ".spec.location", "Whether the service is part of the mesh."],
      ["Resolution", ".spec.resolution", "How addresses of endpoints are found."],
      AGE,
    ],
    needsSpec: true,
    text: "A service that no registry knows.",
  },
  Sidecar: { plural: "sidecars", text: "What the proxies of workloads accept and may call." },
  Telemetry: {
    plural: "telemetries",
    shortNames: ["telemetry"],
    columns: [AGE],
    // What older installations have stored.
    storage: "v1alpha1",
    text: "Traces, metrics and access logs of workloads.",
  },
  VirtualService: {
    plural: "virtualservices",
    shortNames: ["vs"],
    columns: [
      ["Gateways", ".spec.gateways", "Gateways and sidecars that use the routes."],
      ["Hosts", ".spec.hosts", "Hosts that the routes apply to."],
      AGE,
    ],
    text: "How requests to hosts are routed.",
  },
  WasmPlugin: {
    plural: "wasmplugins",
    columns: [AGE],
    needsSpec: true,
    text: "A WebAssembly module in proxies.",
  },
  WorkloadEntry: {
    plural: "workloadentries",
    shortNames: ["we"],
    columns: [AGE, ["Address", ".spec.address", "Address of the workload."]],
    needsSpec: true,
    text: "A workload outside of Kubernetes.",
  },
  WorkloadGroup: {
    plural: "workloadgroups",
    shortNames: ["wg"],
    columns: [AGE],
    needsSpec: true,
    text: "What the workload entries of a group have in common.",
  },
};

/** Kinds of the reference that are stored, so that its manifests can be applied, and that the control plane does not act on. */
const STORED_ONLY = {
  TrafficExtension: {
    plural: "trafficextensions",
    group: "extensions.istio.io",
    versions: ["v1alpha1"],
    spec: "istio.extensions.v1alpha1.TrafficExtension",
    text: "A WebAssembly module or a Lua script in proxies.",
  },
} as const;

/** The definitions of all kinds of rules, as an API server has to know them; sorted by group and kind. */
export function ruleDefinitions(): readonly RuleDefinition[] {
  const acted = (Object.keys(KINDS) as Kind[]).map((kind) =>
    definition(kind, { ...KINDS[kind], ...PRESENTATION[kind] }),
  );
  const stored = Object.entries(STORED_ONLY).map(([kind, entry]) =>
    definition(kind, {
      ...entry,
      columns: [AGE],
      needsSpec: true,
      warning: `${kind} is stored and has no effect: pilot-agent's control plane does not act on it`,
    }),
  );
  const order = ({ spec }: RuleDefinition) => `${spec.group}/${spec.names.kind}`;
  return [...acted, ...stored].sort((a, b) => (order(a) < order(b) ? -1 : 1));
}

interface DefinitionInput extends Presentation {
  readonly group: string;
  readonly versions: readonly string[];
  readonly spec: Parameters<typeof istioMessage>[0];
  /** Shown by kubectl whenever an object of the kind is used. */
  readonly warning?: string;
}

function definition(kind: string, input: DefinitionInput): RuleDefinition {
  const { group, versions, plural, shortNames, columns, storage = versions[0], warning } = input;
  const openAPIV3Schema = objectSchema(input);
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: `${plural}.${group}`,
      labels: { app: "istio-pilot", chart: "istio", release: "istio" },
      // Deleting a definition deletes every object of its kind.
      annotations: { "helm.sh/resource-policy": "keep" },
    },
    spec: {
      group,
      scope: "Namespaced",
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        ...(shortNames && { shortNames }),
        categories: ["istio-io", group.replaceAll(".", "-")],
      },
      versions: versions.map((name) => ({
        name,
        served: true,
        storage: name === storage,
        ...(warning !== undefined && { deprecated: true, deprecationWarning: warning }),
        ...(columns && { additionalPrinterColumns: columns.map(printerColumn) }),
        schema: { openAPIV3Schema },
        subresources: { status: {} },
      })),
    },
  };
}

function printerColumn([name, jsonPath, description]: Column): object {
  return { name, jsonPath, description, type: name === "Age" ? "date" : "string" };
}

function objectSchema({ spec, needsSpec, text }: DefinitionInput): Schema {
  return {
    type: "object",
    description: text,
    properties: { spec: { ...messageSchema(istioMessage(spec)), description: text }, status: STATUS },
    ...(needsSpec && { required: ["spec"] }),
  };
}

/** Other controllers may have written to it too. */
const STATUS: Schema = {
  type: "object",
  description: "What the control plane found.",
  "x-kubernetes-preserve-unknown-fields": true,
  properties: {
    observedGeneration: {
      description: "The generation of the object that the status is about.",
      anyOf: [{ type: "integer" }, { type: "string" }],
      "x-kubernetes-int-or-string": true,
    },
    conditions: {
      type: "array",
      items: {
        type: "object",
        properties: {
          type: { type: "string" },
          status: { type: "string" },
          reason: { type: "string" },
          message: { type: "string" },
          lastProbeTime: { type: "string", format: "date-time" },
          lastTransitionTime: { type: "string", format: "date-time" },
          observedGeneration: {
            anyOf: [{ type: "integer" }, { type: "string" }],
            "x-kubernetes-int-or-string": true,
          },
        },
      },
    },
    validationMessages: {
      type: "array",
      items: {
        type: "object",
        properties: {
          level: { type: "string", enum: ["UNKNOWN", "ERROR", "WARNING", "INFO"] },
          type: {
            type: "object",
            properties: { name: { type: "string" }, code: { type: "string" } },
          },
          documentationUrl: { type: "string" },
        },
      },
    },
  },
};
