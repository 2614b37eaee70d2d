/** Rule objects for tests, as documents. */
export function workloadEntry(name: string, spec: object = {}, namespace = "prod"): Record<string, unknown> {
  return {
    apiVersion: "networking.istio.io/v1",
    kind: "WorkloadEntry",
    metadata: { name, namespace },
    spec: { address: "10.0.0.1", ...spec },
  };
}

export function serviceEntry(name: string, spec: object = {}, namespace = "prod"): Record<string, unknown> {
  return {
    apiVersion: "networking.istio.io/v1",
    kind: "ServiceEntry",
    metadata: { name, namespace },
    spec: {
      hosts: [`${name}.example`],
      addresses: ["10.96.0.1"],
      location: "MESH_INTERNAL",
      resolution: "STATIC",
      ports: [{ number: 80, name: "http", protocol: "HTTP", targetPort: 8080 }],
      endpoints: [{ address: "10.0.0.1", serviceAccount: name }],
      ...spec,
    },
  };
}
