import { type MessageShape, shape } from "../../../kubernetes/index.ts";
import type { ReducedKinds } from "./reduce-object.ts";

/** Of every object: what names it, and how new it is. */
const IDENTITY = {
  name: [1, "text"],
  namespace: [3, "word"],
  resourceVersion: [6, "text"],
  labels: [11, "labels"],
} as const;

const PORTS = {
  ports: [6, [shape({ name: [1, "word"], containerPort: [3, "number"], protocol: [4, "word"] })]],
} as const;

/** What `REDUCERS` read of objects, with the numbers of Kubernetes' .proto files. A test holds the two together. */
export const OBJECT_SHAPES: { readonly [Of in keyof ReducedKinds]: MessageShape } = {
  Namespace: shape({ metadata: [1, shape({ ...IDENTITY, annotations: [12, "labels"] })] }),
  Node: shape({
    metadata: [1, shape(IDENTITY)],
    status: [3, shape({ addresses: [5, [shape({ type: [1, "word"], address: [2, "text"] })]] })],
  }),
  Pod: shape({
    metadata: [
      1,
      shape({
        ...IDENTITY,
        deletionTimestamp: [9, "time"],
        ownerReferences: [13, [shape({ kind: [1, "word"], name: [3, "text"], controller: [6, "bool"] })]],
      }),
    ],
    spec: [
      2,
      shape({
        containers: [2, [shape(PORTS)]],
        serviceAccountName: [8, "word"],
        nodeName: [10, "word"],
        hostname: [16, "text"],
        subdomain: [17, "word"],
        initContainers: [20, [shape({ ...PORTS, restartPolicy: [24, "word"] })]],
      }),
    ],
    status: [
      3,
      shape({
        phase: [1, "word"],
        conditions: [2, [shape({ type: [1, "word"], status: [2, "word"] })]],
        podIP: [6, "text"],
        podIPs: [12, [shape({ ip: [1, "text"] })]],
      }),
    ],
  }),
  Service: shape({
    metadata: [1, shape({ ...IDENTITY, creationTimestamp: [8, "time"], annotations: [12, "labels"] })],
    spec: [
      2,
      shape({
        ports: [
          1,
          [
            shape({
              name: [1, "text"],
              protocol: [2, "word"],
              port: [3, "number"],
              targetPort: [4, "int-or-text"],
              nodePort: [5, "number"],
              appProtocol: [6, "text"],
            }),
          ],
        ],
        selector: [2, "labels"],
        clusterIP: [3, "text"],
        type: [4, "word"],
        externalIPs: [5, "texts"],
        externalName: [10, "text"],
        publishNotReadyAddresses: [13, "bool"],
        clusterIPs: [18, "texts"],
        internalTrafficPolicy: [22, "word"],
        trafficDistribution: [23, "text"],
      }),
    ],
    status: [
      3,
      shape({ loadBalancer: [1, shape({ ingress: [1, [shape({ ip: [1, "text"], hostname: [2, "text"] })]] })] }),
    ],
  }),
  EndpointSlice: shape({
    metadata: [1, shape(IDENTITY)],
    endpoints: [
      2,
      [
        shape({
          addresses: [1, "texts"],
          conditions: [2, shape({ ready: [1, "bool"], serving: [2, "bool"], terminating: [3, "bool"] })],
          targetRef: [4, shape({ kind: [1, "word"], namespace: [2, "word"], name: [3, "text"] })],
        }),
      ],
    ],
    ports: [3, [shape({ name: [1, "word"], port: [3, "number"] })]],
    addressType: [4, "word"],
  }),
};
