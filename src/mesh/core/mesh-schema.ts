import type { JsonSchema } from "./check-schema.ts";

/** What meshes, services, versions and accounts are called; names become folders, hosts and parts of commands. */
export const MESH_NAME = "^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$";

/** No process can have one in its words or its environment. */
const WITHOUT_NUL = "^[^\\u0000]*$";
/** As Kubernetes has them; the control plane refuses a service whose workloads have others. */
const LABEL = "[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?";

const variables: JsonSchema = {
  type: "object",
  description: "Environment variables. $(NAME) stands for another one, such as $(PORT).",
  propertyNames: { pattern: "^[A-Za-z_][A-Za-z0-9_]*$" },
  additionalProperties: { type: ["string", "number", "boolean"], pattern: WITHOUT_NUL },
};

const workload: Readonly<Record<string, JsonSchema>> = {
  command: {
    description:
      "What runs: a list of words, in which $(NAME) stands for an environment variable, or one line for the shell. It listens on $PORT.",
    type: ["string", "array"],
    minLength: 1,
    pattern: WITHOUT_NUL,
    minItems: 1,
    items: { type: ["string", "number"], pattern: WITHOUT_NUL },
  },
  directory: { type: "string", minLength: 1, description: "Working directory of the command, relative to this file." },
  env: variables,
  labels: {
    type: "object",
    description: "Labels of the workload, for subsets and selectors. app and version are set already.",
    propertyNames: { pattern: `^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?${LABEL}$` },
    additionalProperties: { type: ["string", "number", "boolean"], pattern: `^(${LABEL})?$` },
  },
  serviceAccount: {
    type: "string",
    pattern: MESH_NAME,
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
    port: {
      type: "integer",
      minimum: 1,
      maximum: 65_535,
      description: "Port of the service. Without one it only calls others.",
    },
    protocol: { enum: ["http", "http2", "grpc", "tcp"], description: "What is spoken on the port. http by default." },
    entry: { type: "boolean", description: "Callable in plain text from outside the mesh, also when mtls is strict." },
    address: {
      type: "string",
      pattern: "^(\\[[0-9a-fA-F:.]+\\]|[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?):[0-9]{1,5}$",
      description: "HOST:PORT of something that already runs, instead of a command. It gets no sidecar.",
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
      propertyNames: { pattern: MESH_NAME },
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
  required: ["services"],
  properties: {
    name: { type: "string", pattern: MESH_NAME, description: 'Name of the mesh on this machine. "mesh" by default.' },
    namespace: { type: "string", pattern: MESH_NAME, description: 'Namespace of all workloads. "default" by default.' },
    mtls: {
      enum: ["strict", "permissive"],
      description: "strict (the default): workloads accept mutual TLS only. permissive: plain text too.",
    },
    services: {
      type: "object",
      minProperties: 1,
      propertyNames: { pattern: MESH_NAME },
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
