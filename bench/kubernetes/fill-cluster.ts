import type { ApiConnection } from "../../test/support/kubernetes/api-connection.ts";

/** What a cluster is filled with. */
export interface ClusterSize {
  readonly namespaces: number;
  readonly services: number;
  readonly endpoints: number;
}

const AT_ONCE = 32;
const NODES = 100;

/** Namespaces, nodes, services with one slice each and a running pod for every endpoint. */
export async function fillCluster(api: ApiConnection, { namespaces, services, endpoints }: ClusterSize): Promise<void> {
  const create = (path: string, object: object) => api.json({ method: "POST", path, body: object });
  const namespace = (index: number) => `ns-${index % namespaces}`;
  await each(namespaces, (index) => create("/api/v1/namespaces", { metadata: { name: namespace(index) } }));
  await create("/api/v1/namespaces", { metadata: { name: "istio-system" } });
  await each(namespaces, (index) =>
    create(`/api/v1/namespaces/${namespace(index)}/serviceaccounts`, { metadata: { name: "default" } }),
  );
  await each(NODES, (index) =>
    create("/api/v1/nodes", { metadata: { name: `node-${index}`, labels: nodeLabels(index) } }),
  );
  await each(services * endpoints, async (index) => {
    const path = `/api/v1/namespaces/${namespace(Math.floor(index / endpoints))}/pods`;
    const name = podName(index, endpoints);
    await create(path, pod(name, index, endpoints));
    await api.json({
      method: "PATCH",
      path: `${path}/${name}/status`,
      body: { status: podStatus(podAddress(index)) },
      contentType: "application/merge-patch+json",
    });
  });
  await each(services, async (index) => {
    await create(`/api/v1/namespaces/${namespace(index)}/services`, service(index));
    await create(slicePath(index, namespaces), slice(index, namespaces, endpoints));
  });
}

/** One endpoint of the first service moves to this address. */
export async function moveEndpoint(api: ApiConnection, size: ClusterSize, address: string): Promise<void> {
  const { endpoints } = slice(0, size.namespaces, size.endpoints);
  const [, ...others] = endpoints;
  await api.json({
    method: "PATCH",
    path: `${slicePath(0, size.namespaces)}/svc-0-slice`,
    // An address without pod: what a slice says of a pod that runs elsewhere waits for that pod.
    body: { endpoints: [...others, { addresses: [address], conditions: { ready: true } }] },
    contentType: "application/merge-patch+json",
  });
}

async function each(count: number, make: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (next < count) {
        next += 1;
        await make(next - 1);
      }
    }),
  );
}

const podName = (index: number, endpoints: number) => `svc-${Math.floor(index / endpoints)}-${index % endpoints}`;
const podAddress = (index: number) => `10.${20 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`;
const slicePath = (index: number, namespaces: number) =>
  `/apis/discovery.k8s.io/v1/namespaces/ns-${index % namespaces}/endpointslices`;

function nodeLabels(index: number) {
  return { "topology.kubernetes.io/region": "region", "topology.kubernetes.io/zone": `zone-${index % 3}` };
}

/** About as much as a pod of a real cluster says: most of it is not read. */
function pod(name: string, index: number, endpoints: number) {
  const app = `svc-${Math.floor(index / endpoints)}`;
  const env = Array.from({ length: 20 }, (_, at) => ({ name: `SETTING_${at}`, value: `value ${at} of ${app}` }));
  const probe = { httpGet: { path: "/ready", port: 8080 }, periodSeconds: 5 };
  return {
    metadata: {
      name,
      labels: { app, version: "v1", "pod-template-hash": "5d8c7b9f6d", "security.istio.io/tlsMode": "istio" },
      annotations: { "prometheus.io/scrape": "true", "prometheus.io/port": "15020" },
    },
    spec: {
      nodeName: `node-${index % NODES}`,
      containers: [
        {
          name: "app",
          image: "app",
          ports: [{ containerPort: 8080 }],
          env,
          readinessProbe: probe,
          livenessProbe: probe,
        },
        { name: "istio-proxy", image: "proxy", ports: [{ containerPort: 15090 }], env },
      ],
    },
  };
}

function podStatus(podIP: string) {
  const conditions = ["Initialized", "Ready", "ContainersReady", "PodScheduled"].map((type) => ({
    type,
    status: "True",
  }));
  return { phase: "Running", podIP, podIPs: [{ ip: podIP }], conditions };
}

function service(index: number) {
  const name = `svc-${index}`;
  return {
    metadata: { name, labels: { app: name } },
    spec: { selector: { app: name }, ports: [{ name: "http", port: 80, targetPort: 8080 }] },
  };
}

function slice(index: number, namespaces: number, endpoints: number) {
  const name = `svc-${index}`;
  return {
    metadata: { name: `${name}-slice`, labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
    endpoints: Array.from({ length: endpoints }, (_, at) => ({
      addresses: [podAddress(index * endpoints + at)],
      conditions: { ready: true, serving: true, terminating: false },
      nodeName: `node-${(index * endpoints + at) % NODES}`,
      targetRef: {
        kind: "Pod",
        name: podName(index * endpoints + at, endpoints),
        namespace: `ns-${index % namespaces}`,
      },
    })),
  };
}
