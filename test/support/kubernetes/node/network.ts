/** Addresses of the one cluster with a node that a machine can have at a time: they are routed from the machine. */
export const NETWORK = {
  /** The machine's end of the link to the node; the API server listens there. */
  host: "10.250.0.1",
  node: "10.250.0.2",
  prefix: 24,
  pods: "10.244.0.0/24",
  services: "10.96.0.0/16",
  link: "pa-cluster",
  domain: "cluster.local",
} as const;

export const NODE_NAME = "node1";
/** Below each hierarchy of the kernel's control groups. */
export const CGROUP = "pilot-agent-cluster";
