import type { ClusterFiles } from "../cluster-files.ts";
import { CGROUP, NETWORK, NODE_NAME } from "./network.ts";

export const PAUSE_IMAGE = "localhost/pause:1";

export type ServiceMode = "iptables" | "nftables";

/** The configuration files of a node's programs, by name; JSON is YAML. */
export function nodeFiles({ file }: ClusterFiles, mode: ServiceMode): Readonly<Record<string, string>> {
  return {
    "cni/10-bridge.conflist": JSON.stringify(network(file)),
    "containerd.toml": containerd(file),
    "kubelet.yaml": JSON.stringify(kubelet(file)),
    "kube-proxy.yaml": JSON.stringify(kubeProxy(file, mode)),
    "resolv.conf": `nameserver ${NETWORK.node}\n`,
  };
}

type PathOf = (name: string) => string;

function network(file: PathOf) {
  const ipam = {
    type: "host-local",
    dataDir: file("cni-addresses"),
    ranges: [[{ subnet: NETWORK.pods }]],
    routes: [{ dst: "0.0.0.0/0" }],
  };
  return {
    cniVersion: "0.4.0",
    name: "cluster",
    plugins: [
      { type: "bridge", bridge: "cni0", isGateway: true, ipMasq: false, hairpinMode: true, ipam },
      { type: "portmap", capabilities: { portMappings: true } },
    ],
  };
}

function containerd(file: PathOf): string {
  const socket = file("containerd.sock");
  return `version = 2
root = "${file("containerd/root")}"
state = "/run/containerd-state"
oom_score = 0
[grpc]
  address = "${socket}"
[ttrpc]
  address = "${socket}.ttrpc"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${PAUSE_IMAGE}"
  # Not every machine lets root lower the score.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${file("cni")}"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      BinaryName = "runc"
      SystemdCgroup = false
`;
}

function kubelet(file: PathOf) {
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    address: NETWORK.node,
    healthzBindAddress: "127.0.0.1",
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: file("ca.crt") },
    },
    authorization: { mode: "Webhook" },
    tlsCertFile: file("kubelet-server.crt"),
    tlsPrivateKeyFile: file("kubelet-server.key"),
    cgroupDriver: "cgroupfs",
    cgroupRoot: `/${CGROUP}`,
    failCgroupV1: false,
    failSwapOn: false,
    containerRuntimeEndpoint: `unix://${file("containerd.sock")}`,
    clusterDNS: [NETWORK.node],
    clusterDomain: NETWORK.domain,
    resolvConf: file("resolv.conf"),
    oomScoreAdj: 0,
    // The machine is shared with others: pods stay while it has room at all.
    evictionHard: { "memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%" },
    imageGCHighThresholdPercent: 100,
    localStorageCapacityIsolation: false,
    podLogsDir: file("pod-logs"),
    maxOpenFiles: 20_000,
    maxPods: 60,
    syncFrequency: "10s",
  };
}

function kubeProxy(file: PathOf, mode: ServiceMode) {
  return {
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    bindAddress: NETWORK.node,
    clientConnection: { kubeconfig: file("kube-proxy.kubeconfig") },
    clusterCIDR: NETWORK.pods,
    hostnameOverride: NODE_NAME,
    mode,
    healthzBindAddress: "127.0.0.1:10256",
    metricsBindAddress: "127.0.0.1:10249",
    oomScoreAdj: 0,
    // Limits of the machine's kernel stay as they are.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
  };
}
