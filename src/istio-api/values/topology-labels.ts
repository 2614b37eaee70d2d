/** Labels that stand for the parts of a locality, for a network and for a cluster. */
export const TOPOLOGY = {
  region: "topology.kubernetes.io/region",
  zone: "topology.kubernetes.io/zone",
  subzone: "topology.istio.io/subzone",
  network: "topology.istio.io/network",
  cluster: "topology.istio.io/cluster",
} as const;

/** The machine that something runs on. */
export const NODE_LABEL = "kubernetes.io/hostname";
