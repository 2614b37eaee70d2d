// npm start: a certificate authority, the agent and a real Envoy on this machine, with one listener to try. Ctrl-C ends all of it.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const program = resolve(import.meta.dirname, "../bin/pilot-agent");
const folder = mkdtempSync(join(tmpdir(), "pilot-agent-start-"));
const say = (text) => console.log(`\u001b[36m|\u001b[0m ${text}`);

const found = spawnSync(program, ["envoy", "path"], { stdio: ["ignore", "pipe", "inherit"], encoding: "utf8" });
if (found.status !== 0) process.exit(found.status ?? 1);

const freePort = () =>
  new Promise((done) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
const names = ["plain", "secure", "ca", "admin", "status", "envoyStatus", "envoyPrometheus"];
const ports = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await freePort()])));

/** What ADS would bring, written down: one listener that answers in the clear, one behind the workload's certificate. */
const router = {
  name: "envoy.filters.http.router",
  typed_config: { "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router" },
};
const listener = (name, port, transport) => ({
  name,
  address: { socket_address: { address: "127.0.0.1", port_value: port } },
  filter_chains: [
    {
      filters: [
        {
          name: "envoy.filters.network.http_connection_manager",
          typed_config: {
            "@type":
              "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
            stat_prefix: name,
            route_config: {
              virtual_hosts: [
                {
                  name,
                  domains: ["*"],
                  routes: [
                    {
                      match: { prefix: "/" },
                      direct_response: { status: 200, body: { inline_string: `hello from Envoy, ${name}\n` } },
                    },
                  ],
                },
              ],
            },
            http_filters: [router],
          },
        },
      ],
      ...(transport && { transport_socket: transport }),
    },
  ],
});
const secret = {
  name: "default",
  sds_config: {
    api_config_source: {
      api_type: "GRPC",
      transport_api_version: "V3",
      grpc_services: [{ envoy_grpc: { cluster_name: "sds-grpc" } }],
    },
    resource_api_version: "V3",
  },
};
const tls = {
  name: "envoy.transport_sockets.tls",
  typed_config: {
    "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
    common_tls_context: { tls_certificate_sds_secret_configs: [secret] },
  },
};
const local = (port) => ({ socket_address: { address: "127.0.0.1", port_value: port } });
const bootstrap = {
  node: { id: "sidecar~127.0.0.1~hello.demo~demo.svc.cluster.local", cluster: "hello.demo" },
  admin: { address: local(ports.admin) },
  static_resources: {
    listeners: [listener("plain", ports.plain), listener("with the mesh certificate", ports.secure, tls)],
    clusters: [
      {
        name: "sds-grpc",
        type: "STATIC",
        connect_timeout: "1s",
        typed_extension_protocol_options: {
          "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
            "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
            explicit_http_config: { http2_protocol_options: {} },
          },
        },
        load_assignment: {
          cluster_name: "sds-grpc",
          endpoints: [
            {
              lb_endpoints: [
                { endpoint: { address: { pipe: { path: "./var/run/secrets/workload-spiffe-uds/socket" } } } },
              ],
            },
          ],
        },
      },
    ],
  },
};
writeFileSync(join(folder, "bootstrap.json"), JSON.stringify(bootstrap));

const children = [];
const start = (args, env, stdio) => {
  const child = spawn(program, args, { cwd: folder, env: { ...process.env, ...env }, stdio });
  children.push(child);
  return child;
};

say("starting a certificate authority");
const ca = start(["ca", "--dir", "ca", "--listen", `127.0.0.1:${ports.ca}`], {}, ["ignore", "pipe", "inherit"]);
await new Promise((ready, failed) => {
  ca.stdout.once("data", ready);
  ca.once("exit", (code) => failed(new Error(`the certificate authority ended with code ${code}`)));
}).catch((thrown) => {
  console.error(thrown.message);
  process.exit(1);
});
ca.stdout.resume();
const token = spawnSync(program, ["ca", "--dir", "ca", "--issue-token", "demo/hello"], {
  cwd: folder,
  encoding: "utf8",
}).stdout;
mkdirSync(join(folder, "var/run/secrets/tokens"), { recursive: true });
mkdirSync(join(folder, "var/run/secrets/istio"), { recursive: true });
writeFileSync(join(folder, "var/run/secrets/tokens/istio-token"), token, { mode: 0o600 });
writeFileSync(join(folder, "var/run/secrets/istio/root-cert.pem"), readFileSync(join(folder, "ca/root-cert.pem")));

say("starting the agent and Envoy");
const agent = start(
  ["proxy", "sidecar"],
  {
    ENVOY_BIN: found.stdout.trim(),
    POD_NAME: "hello",
    POD_NAMESPACE: "demo",
    SERVICE_ACCOUNT: "hello",
    CLOUD_PLATFORM: "none",
    ECC_SIGNATURE_ALGORITHM: "ECDSA",
    ENVOY_STATUS_PORT: String(ports.envoyStatus),
    ENVOY_PROMETHEUS_PORT: String(ports.envoyPrometheus),
    PROXY_CONFIG: JSON.stringify({
      discoveryAddress: `localhost:${ports.ca}`,
      proxyAdminPort: ports.admin,
      statusPort: ports.status,
      customConfigFile: "bootstrap.json",
      terminationDrainDuration: "1s",
    }),
  },
  ["ignore", "inherit", "inherit"],
);

let stopping = false;
const stop = () => {
  if (stopping) return;
  stopping = true;
  for (const child of [...children].reverse()) if (child.exitCode === null) child.kill("SIGTERM");
};
for (const name of ["SIGINT", "SIGTERM"]) process.on(name, stop);
agent.once("exit", (code) => {
  stop();
  rmSync(folder, { recursive: true, force: true });
  process.exitCode = code ?? 1;
});

const answers = () =>
  new Promise((done) => {
    const asked = request({ host: "127.0.0.1", port: ports.plain }, (response) => {
      response.resume();
      done(true);
    });
    asked.on("error", () => done(false));
    asked.end();
  });
for (let tries = 0; tries < 300 && !stopping && !(await answers()); tries += 1)
  await new Promise((again) => setTimeout(again, 100));
if (!stopping) {
  say("");
  say(
    "Envoy runs behind the agent. There is no control plane yet: the two listeners come from a file, the certificate from the CA.",
  );
  say(`  curl http://127.0.0.1:${ports.plain}/`);
  say(`  curl -k -v https://127.0.0.1:${ports.secure}/      (shows spiffe://cluster.local/ns/demo/sa/hello)`);
  say(`  curl http://127.0.0.1:${ports.status}/debug/certs      (what the agent got from the CA)`);
  say(`  files are in ${folder}; Ctrl-C ends everything and removes them`);
  say("");
}
