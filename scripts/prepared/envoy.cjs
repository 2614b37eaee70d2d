// Stands where Envoy would be while the code of `proxy` is compiled: asks for clusters, listeners and the certificate, has an admin port,
// and tells by a file named `ready` that the agent is ready. All that is run by then is compiled code at every later start.
"use strict";
const { writeFileSync } = require("node:fs");
const { createServer, get } = require("node:http");
const { connect: connectHttp2 } = require("node:http2");
const { connect } = require("node:net");

const STATS = `cluster_manager.cds.update_success: 1
listener_manager.lds.update_success: 1
listener_manager.workers_started: 1
server.state: 0
`;
const XDS = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";
const SDS = "/envoy.service.secret.v3.SecretDiscoveryService/DeltaSecrets";
const { proxyAdminPort, statusPort } = JSON.parse(process.env.PROXY_CONFIG);

createServer((_request, response) => response.end(STATS)).listen(proxyAdminPort, "127.0.0.1", async () => {
  const xds = openStream("etc/istio/proxy/XDS", XDS);
  for (const type of ["cluster.v3.Cluster", "listener.v3.Listener"]) await xds.ask(`envoy.config.${type}`);
  const sds = openStream("var/run/secrets/workload-spiffe-uds/socket", SDS);
  await sds.ask("envoy.extensions.transport_sockets.tls.v3.Secret", "default");
  while ((await readiness()) !== 200) await new Promise((again) => setTimeout(again, 20));
  writeFileSync("ready", "");
});

/** `ask` resolves when anything comes back. */
function openStream(socket, path) {
  const session = connectHttp2("http://localhost", { createConnection: () => connect(socket) });
  const headers = { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" };
  const stream = session.request(headers, { endStream: false });
  return {
    ask(type, ...names) {
      const answered = new Promise((done) => stream.once("data", done));
      stream.write(frame([field(1, field(1, "sidecar~127.0.0.1~build.build~build"))], type, names));
      return answered;
    },
  };
}

/** A DeltaDiscoveryRequest: node, type_url and resource_names_subscribe, behind the five bytes of gRPC. */
function frame(node, type, names) {
  const subscribed = names.map((name) => field(3, name));
  const message = Buffer.concat([...node, field(2, `type.googleapis.com/${type}`), ...subscribed]);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** Nothing here is longer than a length of one byte can say. */
function field(number, content) {
  const bytes = Buffer.from(content);
  return Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes]);
}

function readiness() {
  return new Promise((done) => {
    const request = get({ host: "127.0.0.1", port: statusPort, path: "/healthz/ready" }, (response) => {
      response.resume();
      done(response.statusCode);
    });
    request.on("error", () => done(0));
  });
}
