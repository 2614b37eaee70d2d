/** The demo's mesh file. */
export function shopFile(): string {
  const app = (name: string) => `command: eval exec "$PILOT_AGENT" mesh demo-app ${name}`;
  return `name: shop
namespace: shop
services:
  front:
    port: 8480
    entry: true
    ${app("front")}
    calls: [catalogue, stock, prices]
  catalogue:
    port: 8480
    ${app("catalogue")}
    calls: []
    versions: {v1: {}, v2: {}, v3: {}}
  stock:
    port: 8480
    ${app("stock")}
    calls: []
  prices:
    port: 9490
    protocol: grpc
    ${app("prices")}
    calls: []
  load:
    ${app("load")}
    calls: [front]
config:
  - apiVersion: networking.istio.io/v1
    kind: DestinationRule
    metadata: {name: catalogue, namespace: shop}
    spec:
      host: ${CATALOGUE}
      subsets:
        - {name: v1, labels: {version: v1}}
        - {name: v2, labels: {version: v2}}
        - {name: v3, labels: {version: v3}}
  - ${JSON.stringify(catalogueRoute({ v1: 100 }))}
`;
}

/** The same shop without Envoy: gRPC programs that take routes, endpoints and certificates from their agent. */
export function proxylessShopFile(): string {
  const app = (name: string) => `command: eval exec "$PILOT_AGENT" mesh demo-app ${name}`;
  const mutual = (host: string, subsets: readonly string[]) =>
    JSON.stringify({
      apiVersion: "networking.istio.io/v1",
      kind: "DestinationRule",
      metadata: { name: host.split(".")[0], namespace: "shop" },
      spec: {
        host,
        trafficPolicy: { tls: { mode: "ISTIO_MUTUAL" } },
        subsets: subsets.map((name) => ({ name, labels: { version: name } })),
      },
    });
  return `name: shop
namespace: shop
services:
  front: {port: 8480, entry: true, calls: [catalogue, prices], ${app("proxyless-front")}}
  catalogue:
    port: 8480
    protocol: grpc
    ${app("proxyless-catalogue")}
    calls: []
    versions: {v1: {}, v2: {}, v3: {}}
  prices: {port: 9490, protocol: grpc, calls: [], ${app("proxyless-prices")}}
  load: {calls: [front], ${app("load")}}
config:
  - ${mutual(CATALOGUE, ["v1", "v2", "v3"])}
  - ${mutual(PRICES, [])}
  - ${JSON.stringify(catalogueRoute({ v1: 100 }))}
`;
}

const CATALOGUE = "catalogue.shop.svc.cluster.local";
const PRICES = "prices.shop.svc.cluster.local";
const STOCK = "stock.shop.svc.cluster.local";

/** Files for `mesh apply`, each one thing to try. */
export const SHOP_TRIES = {
  "split-80-20.yaml": yaml(catalogueRoute({ v1: 80, v2: 20 })),
  "fault.yaml": yaml({
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name: "stock", namespace: "shop" },
    spec: {
      hosts: [STOCK],
      http: [
        {
          fault: { abort: { httpStatus: 503, percentage: { value: 50 } } },
          route: [{ destination: { host: STOCK } }],
        },
      ],
    },
  }),
} as const;

function catalogueRoute(weights: Readonly<Record<string, number>>): object {
  const route = Object.entries(weights).map(([subset, weight]) => ({
    destination: { host: CATALOGUE, subset },
    weight,
  }));
  return {
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name: "catalogue", namespace: "shop" },
    spec: { hosts: [CATALOGUE], http: [{ route }] },
  };
}

function yaml(object: object): string {
  return `${JSON.stringify(object, null, 2)}\n`;
}
