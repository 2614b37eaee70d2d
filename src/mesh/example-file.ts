/** Editors complete and check by it. */
const SCHEMA_URL = "https://unpkg.com/pilot-agent/docs/mesh.schema.json";

/** What `mesh init` writes: every member once, explained. */
export function exampleFile(): string {
  return `# yaml-language-server: $schema=${SCHEMA_URL}
# A mesh on this machine. Start it with: pilot-agent mesh up
# Every member is described by: pilot-agent mesh schema

name: example            # of the mesh on this machine; several can run side by side
namespace: default       # of all workloads: spiffe://cluster.local/ns/default/sa/...
mtls: strict             # workloads accept mutual TLS only; permissive: plain text too

services:
  web:
    port: 8080
    entry: true          # may be called from outside the mesh, in plain text
    # One line for the shell, or a list of words. It listens on $PORT and finds the others in the environment:
    # HELLO_URL (and HELLO_HOST, HELLO_PORT) for the service hello, and so on.
    command: |
      exec node -e 'const http = require("http");
        http.createServer((_, out) => http.get(process.env.HELLO_URL, (res) => res.pipe(out))
          .on("error", (failed) => out.writeHead(502).end(failed.message))).listen(process.env.PORT, process.env.HOST)'
    calls: [hello]       # all services when left out
    # directory: ./web   # working directory, relative to this file
    # env: {LOG_LEVEL: "\${LOG_LEVEL:-debug}"}   # of the caller's environment, with a default
    # env_file: web.env  # NAME=value lines; env wins
    # depends_on: [hello]                        # starts when hello is ready
    # healthcheck: {http: /health, interval: 5s} # others call it only while this answers well
    # labels: {team: shop}
    # serviceAccount: web
    # replicas: 2

  hello:
    port: 8080
    protocol: http       # http, http2, grpc or tcp
    command:
      - node
      - -e
      - require("http").createServer((_, out) => out.end("hello from " + process.env.MESH_VERSION + "\\n")).listen(process.env.PORT, process.env.HOST)
    versions:            # what stands beside them is their default
      v1: {}
      v2:
        env: {COLOUR: green}

  # ingress:             # an Envoy for Gateway objects (selector istio: ingressgateway), open on this machine
  #   kind: gateway
  #   ports: {http: 8888}

  # database:            # something that already runs, without a sidecar
  #   port: 5432
  #   protocol: tcp
  #   address: 192.168.1.10:5432

# import: docker-compose.yaml   # its services that have a command, beside those above

# Istio objects, here or in a folder that is watched (configDir: ./rules). Both can be changed while the mesh runs.
config:
  - apiVersion: networking.istio.io/v1
    kind: DestinationRule
    metadata: {name: hello, namespace: default}
    spec:
      host: hello.default.svc.cluster.local
      subsets:
        - {name: v1, labels: {version: v1}}
        - {name: v2, labels: {version: v2}}
  - apiVersion: networking.istio.io/v1
    kind: VirtualService
    metadata: {name: hello, namespace: default}
    spec:
      hosts: [hello.default.svc.cluster.local]
      http:
        - route:
            - {destination: {host: hello.default.svc.cluster.local, subset: v1}, weight: 90}
            - {destination: {host: hello.default.svc.cluster.local, subset: v2}, weight: 10}
`;
}
