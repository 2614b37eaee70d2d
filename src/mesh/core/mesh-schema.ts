import type { JsonSchema } from "./check-schema.ts";

/** What meshes, services, versions and accounts are called; names become folders, hosts and parts of commands. */
export const MESH_NAME = "^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$";

/** In words of its user; editors show them as well. */
const name: JsonSchema = {
  pattern: MESH_NAME,
  patternErrorMessage: "expected at most 40 small letters, digits and dashes, beginning with a letter",
};

/** No process can have one in its words or its environment. */
const withoutNul: JsonSchema = { pattern: "^[^\\u0000]*$", patternErrorMessage: "which has a NUL character" };
/** As Kubernetes has them; the control plane refuses a service whose workloads have others. */
const LABEL = "[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?";
const LABEL_TEXT =
  "expected at most 63 letters, digits, dashes, underscores and dots, with a letter or digit at both ends";

const variables: JsonSchema = {
  type: "object",
  description: "Environment variables. $(NAME) stands for another one, such as $(PORT).",
  propertyNames: {
    pattern: "^[A-Za-z_][A-Za-z0-9_]*$",
    patternErrorMessage: "expected letters, digits and underscores, not beginning with a digit",
  },
  additionalProperties: { type: ["string", "number", "boolean"], ...withoutNul },
};

const DURATION = "^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$";
const duration = (description: string): JsonSchema => ({
  type: "string",
  pattern: DURATION,
  patternErrorMessage: "expected a duration such as 500ms, 30s or 1h30m",
  description,
});

const command: JsonSchema = {
  type: ["string", "array"],
  minLength: 1,
  ...withoutNul,
  minItems: 1,
  items: { type: ["string", "number"], ...withoutNul },
};

const port: JsonSchema = { type: "integer", minimum: 1, maximum: 65_535 };
const protocol: JsonSchema = { enum: ["http", "http2", "grpc", "tcp"] };

const labels: JsonSchema = {
  type: "object",
  propertyNames: {
    pattern: `^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?${LABEL}$`,
    patternErrorMessage: `${LABEL_TEXT}, with or without a host name and a slash before it`,
  },
  additionalProperties: {
    type: ["string", "number", "boolean"],
    pattern: `^(${LABEL})?$`,
    patternErrorMessage: LABEL_TEXT,
  },
};

const healthcheck: JsonSchema = {
  type: "object",
  description:
    "How to see whether the application works: one of http, tcp and command. Others call it only while it is healthy.",
  additionalProperties: false,
  properties: {
    http: {
      type: "string",
      pattern: "^/[^\\s]*$",
      patternErrorMessage: "expected a path that begins with a slash",
      description: "Path that answers with a status from 200 to 399.",
    },
    tcp: { enum: ["connect"], description: "connect: the port takes connections." },
    command: {
      ...command,
      description: "Runs where the application runs and ends with 0: words, or a line for the shell.",
    },
    port: { ...port, description: "Port of the service for http and tcp; its first by default." },
    interval: duration("Between two checks. 5s by default."),
    timeout: duration("After which a check has failed. 2s by default."),
    retries: {
      type: "integer",
      minimum: 1,
      maximum: 1000,
      description: "Failures in a row after which it is unhealthy. 3 by default.",
    },
    start_period: duration("After a start in which failures do not count. 0s by default."),
  },
};

const workload: Readonly<Record<string, JsonSchema>> = {
  command: {
    description:
      "What runs: a list of words, in which $(NAME) stands for an environment variable, or one line for the shell. It listens on $PORT.",
    ...command,
  },
  directory: { type: "string", minLength: 1, description: "Working directory of the command, relative to this file." },
  env: variables,
  env_file: {
    description: "Files with NAME=value lines, relative to this file; the last one wins, and env wins over them.",
    type: ["string", "array"],
    minLength: 1,
    minItems: 1,
    items: { type: "string", minLength: 1 },
  },
  labels: {
    ...labels,
    description: "Labels of the workload, for subsets and selectors. app and version are set already.",
  },
  healthcheck,
  serviceAccount: {
    type: "string",
    ...name,
    description:
      "Identity of the workload: spiffe://cluster.local/ns/NAMESPACE/sa/ACCOUNT. The service's name by default.",
  },
  replicas: { type: "integer", minimum: 1, maximum: 50, description: "How many of them run. 1 by default." },
};

const service: JsonSchema = {
  type: "object",
  description: "A service and the workloads behind it, or the address where it already runs.",
  additionalProperties: false,
  properties: {
    kind: {
      enum: ["sidecar", "proxyless", "gateway"],
      description:
        "sidecar (the default): an Envoy beside the application. proxyless: a gRPC program that speaks xDS itself. gateway: an Envoy that Gateway objects select, with its ports open on this machine.",
    },
    port: { ...port, description: "Port of the service. Without one it only calls others." },
    protocol: { ...protocol, description: "What is spoken on the port. http by default." },
    ports: {
      type: "object",
      description: "Several ports by name, instead of port: a number, or port and protocol. The first one is $PORT.",
      minProperties: 1,
      propertyNames: {
        pattern: "^[a-z]([-a-z0-9]{0,13}[a-z0-9])?$",
        patternErrorMessage: "expected at most 15 small letters, digits and dashes, beginning with a letter",
      },
      additionalProperties: {
        type: ["integer", "object"],
        minimum: 1,
        maximum: 65_535,
        additionalProperties: false,
        required: ["port"],
        properties: {
          port: { ...port, description: "Its number." },
          protocol: { ...protocol, description: "http by default, or what the port is called." },
        },
      },
    },
    entry: { type: "boolean", description: "Callable in plain text from outside the mesh, also when mtls is strict." },
    address: {
      type: "string",
      pattern: "^(\\[[0-9a-fA-F:.]+\\]|[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?):[0-9]{1,5}$",
      patternErrorMessage: "expected HOST:PORT",
      description: "HOST:PORT of something that already runs, instead of a command. It gets no sidecar.",
    },
    endpoints: {
      type: "array",
      minItems: 1,
      description:
        "Addresses where it already runs, without a sidecar: machines of the network. Beside a command, further instances.",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["address"],
        properties: {
          address: {
            type: "string",
            pattern: "^([0-9a-fA-F:.]+|[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?)$",
            patternErrorMessage: "expected a host name or an address, without a port",
            description: "Host name or address.",
          },
          port: { ...port, description: "Port there; the service's own by default." },
          labels: { ...labels, description: "For subsets." },
        },
      },
    },
    depends_on: {
      type: ["array", "object"],
      description:
        "Services that have to be ready before this one's applications start. By name with a condition: started (its processes run) or healthy (the default).",
      items: { type: "string" },
      additionalProperties: {
        type: "object",
        additionalProperties: false,
        properties: {
          condition: {
            enum: ["started", "healthy"],
            description: "started: its processes run. healthy (the default): it is ready.",
          },
        },
      },
    },
    calls: {
      type: "array",
      items: { type: "string" },
      description: "Names of the services that it calls. All of them by default.",
    },
    versions: {
      type: "object",
      description:
        "Several kinds of workloads behind one service, by version; what stands beside them is their default.",
      minProperties: 1,
      propertyNames: name,
      additionalProperties: { type: "object", additionalProperties: false, properties: workload },
    },
    ...workload,
  },
};

/** The published description of mesh.yaml; `mesh validate` checks by it and editors complete by it. */
export const MESH_SCHEMA: JsonSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "mesh.yaml of pilot-agent",
  type: "object",
  additionalProperties: false,
  properties: {
    name: { type: "string", ...name, description: 'Name of the mesh on this machine. "mesh" by default.' },
    namespace: { type: "string", ...name, description: 'Namespace of all workloads. "default" by default.' },
    mtls: {
      enum: ["strict", "permissive"],
      description: "strict (the default): workloads accept mutual TLS only. permissive: plain text too.",
    },
    egress: {
      enum: ["none", "allowed", "registry-only"],
      description:
        "What workloads reach outside the mesh: everything (allowed, the default), hosts of ServiceEntries (registry-only), or nothing (none, which needs namespaces).",
    },
    import: {
      type: "string",
      minLength: 1,
      description:
        "A docker-compose.yaml, relative to this file, whose services with a command become services here. Members that stand here win.",
    },
    services: {
      type: "object",
      propertyNames: name,
      additionalProperties: service,
      description: "The services by name.",
    },
    config: {
      type: "array",
      items: { type: "object", required: ["apiVersion", "kind", "metadata"] },
      description: "Istio objects: VirtualService, DestinationRule and so on.",
    },
    configDir: {
      type: "string",
      minLength: 1,
      description: "A folder with Istio objects, relative to this file; watched while the mesh runs.",
    },
  },
};
