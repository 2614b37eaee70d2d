/** A service per member of a DestinationRule, so that each member ends up in a cluster. Ports of every protocol on the last one. */
export const EVERY_FIELD_YAML = [
  ...Object.entries({
    random: "loadBalancer: {simple: RANDOM}",
    passthrough: "loadBalancer: {simple: PASSTHROUGH}",
    warm: "loadBalancer: {simple: ROUND_ROBIN, warmup: {duration: 30s, minimumPercent: 20, aggression: 1.5}}",
    warmdefault: "loadBalancer: {warmup: {duration: 30s}}",
    warmold: "loadBalancer: {simple: LEAST_CONN, warmupDurationSecs: 45s}",
    ring: "loadBalancer: {consistentHash: {httpHeaderName: x-user, ringHash: {minimumRingSize: 99999999}}}",
    ringold: "loadBalancer: {consistentHash: {useSourceIp: true, minimumRingSize: 4096}}",
    maglev: "loadBalancer: {consistentHash: {httpQueryParameterName: q, maglev: {tableSize: 65537}}}",
    distribute:
      "loadBalancer: {localityLbSetting: {distribute: [{from: r1/*, to: {r1/z1/*: 70, r2/*: 30}}]}}\n      outlierDetection: {}",
    failover: "loadBalancer: {localityLbSetting: {failover: [{from: r1, to: r2}]}}\n      outlierDetection: {}",
    labels: "loadBalancer: {localityLbSetting: {failoverPriority: [rack, row=a]}}\n      outlierDetection: {}",
    pool: `connectionPool:
        tcp: {maxConnections: 1, connectTimeout: 250ms, maxConnectionDuration: 3600s, idleTimeout: 60s, tcpKeepalive: {probes: 3, time: 7200s, interval: 75s}}
        http: {http1MaxPendingRequests: 1, http2MaxRequests: 2, maxRequestsPerConnection: 3, maxRetries: 4, idleTimeout: 5s, maxConcurrentStreams: 6}`,
    upgrade: "connectionPool: {http: {h2UpgradePolicy: UPGRADE, maxConcurrentStreams: 50}}",
    stay: "connectionPool: {http: {h2UpgradePolicy: DO_NOT_UPGRADE}}",
    client: "connectionPool: {http: {useClientProtocol: true, maxConcurrentStreams: 50}}",
    outlier:
      "outlierDetection: {consecutive5xxErrors: 7, consecutiveGatewayErrors: 0, interval: 1s, baseEjectionTime: 3m, maxEjectionPercent: 100, minHealthPercent: 40, splitExternalLocalOriginErrors: true, consecutiveLocalOriginFailures: 9}",
    longejection: "outlierDetection: {baseEjectionTime: 10m}",
    budget: "retryBudget: {percent: 25, minRetryConcurrency: 7}",
    budgetdefault: "retryBudget: {}",
    proxyv1: "proxyProtocol: {version: V1}",
    proxyv2: "proxyProtocol: {version: V2}\n      tls: {mode: SIMPLE}",
    off: "tls: {mode: DISABLE}",
    simple: "tls: {mode: SIMPLE}",
    own: "tls: {mode: SIMPLE, sni: own.example, subjectAltNames: [own.example, 192.0.2.1, 'https://own.example/id'], caCertificates: /etc/ca.pem}",
    skip: "tls: {mode: SIMPLE, insecureSkipVerify: true}",
    mutual: "tls: {mode: MUTUAL, clientCertificate: /etc/c.pem, privateKey: /etc/k.pem, caCertificates: /etc/ca.pem}",
    mesh: "tls: {mode: ISTIO_MUTUAL, sni: own.example, subjectAltNames: [spiffe://cluster.local/ns/x/sa/y]}",
    credential: "tls: {mode: SIMPLE, credentialName: some-secret}",
    tunnel: "tunnel: {protocol: CONNECT, targetHost: t.example, targetPort: 443}",
    ports: "portLevelSettings: [{port: {number: 8080}, loadBalancer: {simple: RANDOM}, tls: {mode: SIMPLE}}]",
  }).map(([name, policy], index) => service(name, index) + rule(name, policy)),
  `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: kinds, namespace: default}
spec:
  hosts: [kinds.default.svc.cluster.local]
  addresses: [10.96.2.1]
  location: MESH_INTERNAL
  resolution: STATIC
  ports:
${["HTTP", "HTTP2", "HTTPS", "GRPC", "GRPC-Web", "TCP", "TLS", "UDP", "Mongo", "Redis", "MySQL", '""']
  .map((protocol, index) => `  - {number: ${9000 + index}, name: p${index}, protocol: ${protocol}}`)
  .join("\n")}
  endpoints:
  - {address: 10.10.2.1, labels: {app: kinds}, serviceAccount: kinds, weight: 4294967295}
  - {address: 10.10.2.2, weight: 4294967295}
  - {address: "2001:db8::1"}
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: socket, namespace: default}
spec:
  hosts: [socket.example]
  resolution: STATIC
  ports: [{number: 80, name: http, protocol: HTTP}]
  endpoints: [{address: "unix:///run/app.sock"}]
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: names, namespace: default}
spec:
  hosts: [names.example]
  resolution: DNS
  ports: [{number: 80, name: http, protocol: HTTP}, {number: 443, name: tls, protocol: TLS}]
  endpoints:
  - {address: eu.example, locality: r1/z1, labels: {version: v1}, weight: 3}
  - {address: us.example, locality: r2/z1, labels: {version: v2}}
  - {address: 192.0.2.7}
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: names, namespace: default}
spec:
  host: names.example
  trafficPolicy: {outlierDetection: {}, tls: {mode: SIMPLE}}
  subsets: [{name: v1, labels: {version: v1}}, {name: nobody, labels: {version: v9}}]
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: logical, namespace: default}
spec:
  hosts: [logical.example]
  resolution: DNS_ROUND_ROBIN
  ports: [{number: 80, name: http, protocol: HTTP}]
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: long, namespace: default}
spec:
  hosts: ["${Array.from({ length: 4 }, () => "a".repeat(61)).join(".")}.x"]
  location: MESH_INTERNAL
  resolution: STATIC
  ports: [{number: 443, name: tls, protocol: TLS}]
  endpoints: [{address: 10.10.3.1, serviceAccount: long}]
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: anywhere, namespace: default}
spec:
  hosts: ["*.any.example"]
  resolution: NONE
  ports: [{number: 443, name: tls, protocol: TLS}]
`,
].join("---");

function service(name: string, index: number): string {
  return `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: ${name}, namespace: default}
spec:
  hosts: [${name}.default.svc.cluster.local]
  addresses: [10.96.1.${index + 1}]
  location: MESH_INTERNAL
  resolution: STATIC
  ports:
  - {number: 8080, name: http, protocol: HTTP}
  - {number: 9090, name: tcp, protocol: TCP}
  endpoints:
  - {address: 10.10.1.${index + 1}, labels: {version: v1, rack: r1, row: a}, locality: r1/z1/s1, serviceAccount: ${name}}
  - {address: 10.10.1.${index + 101}, labels: {version: v2, rack: r2, row: b}, locality: r2/z1/s1, serviceAccount: ${name}}
---`;
}

function rule(name: string, policy: string): string {
  return `
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: ${name}, namespace: default}
spec:
  host: ${name}
  trafficPolicy:
      ${policy}
  subsets: [{name: v1, labels: {version: v1}}]
`;
}

export const EVERY_FIELD_NODE = {
  id: "sidecar~10.10.0.11~web-0.default~default.svc.cluster.local",
  metadata: {
    NAMESPACE: "default",
    INSTANCE_IPS: "10.10.0.11,2001:db8::11",
    CLUSTER_ID: "Kubernetes",
    LABELS: { rack: "r1" },
  },
  locality: { region: "r1", zone: "z1", subZone: "s1" },
} as const;
