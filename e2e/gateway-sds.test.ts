import { createServer } from "node:https";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { startAgentProcess } from "../test/support/agent/agent-process.ts";
import { opensslCertificates } from "../test/support/certs/openssl-certificates.ts";
import { needs } from "../test/support/needs.ts";
import { untilListening } from "../test/support/net/until-listening.ts";
import { connectSds, decodeSecrets, SECRET_TYPE } from "../test/support/sds/client.ts";
import { startMeshControlPlane } from "../test/support/xds/mesh-control-plane.ts";

beforeEach(needs("envoy", "openssl"));

/** An API server with one secret, over TLS with a token. */
async function startApi(secret: object) {
  const { ca, server: key } = opensslCertificates();
  const api = createServer(key, (request, response) => {
    if (request.headers.authorization !== "Bearer api-token") return void response.writeHead(401).end();
    if (request.url?.includes("watch=1")) return void response.writeHead(200).flushHeaders();
    response.end(JSON.stringify({ metadata: { resourceVersion: "1" }, items: [secret] }));
  }).listen(0, "127.0.0.1");
  await new Promise((ready) => api.once("listening", ready));
  return {
    ca,
    port: (api.address() as { port: number }).port,
    async [Symbol.asyncDispose]() {
      api.closeAllConnections();
      await new Promise((closed) => api.close(closed));
    },
  };
}

test.each(["1.8", "1.7"])(
  "a gateway of %s serves the Kubernetes secrets of its namespace on a socket of its own",
  async (generation) => {
    const { client } = opensslCertificates();
    const data = {
      "tls.crt": Buffer.from(client.cert).toString("base64"),
      "tls.key": Buffer.from(client.key).toString("base64"),
    };
    await using api = await startApi({ metadata: { name: "site", resourceVersion: "1" }, data });
    await using controlPlane = await startMeshControlPlane({ resources: () => [] });
    const account = "var/run/secrets/kubernetes.io/serviceaccount";
    await using agent = await startAgentProcess({
      controlPlane,
      node: "router",
      env: {
        PILOT_AGENT_GENERATION: generation,
        KUBERNETES_SERVICE_HOST: "127.0.0.1",
        KUBERNETES_SERVICE_PORT: String(api.port),
      },
      files: {
        "var/run/ingress_gateway/.keep": "",
        [`${account}/ca.crt`]: api.ca,
        [`${account}/token`]: "api-token\n",
      },
    });
    const socket = join(agent.folder, "var/run/ingress_gateway/sds");
    await untilListening(socket);
    await using sds = connectSds(socket);
    const stream = sds.stream();
    stream.send({
      node: { id: "router~127.0.0.1~gw.ns~ns.svc.cluster.local" },
      resource_names: ["site"],
      type_url: SECRET_TYPE,
    });
    const [served] = decodeSecrets(await stream.next());
    expect(served?.name).toBe("site");
    expect(served?.tls_certificate?.certificate_chain.inline_bytes.toString()).toBe(client.cert);
    expect(agent.stdout()).not.toContain("api-token");
  },
);
