import { request } from "node:https";
import type { TLSSocket } from "node:tls";
import { describe, expect, test } from "vitest";
import { SECRET_TYPE } from "../../src/xds/type-urls.ts";
import { createTestCa } from "../support/certs/test-ca.ts";
import { certificatesOf, gatewayNode, tlsGateway, tlsSecret } from "../support/discovery/gateway.ts";
import { startDiscoveryServer } from "../support/discovery/server.ts";
import { runGatewayEnvoy } from "../support/envoy/gateway-envoy.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import type { Manifest } from "../support/kubernetes/apply-objects.ts";
import { ruleDefinitions } from "../support/kubernetes/rule-definitions.ts";
import { startKubernetes } from "../support/kubernetes/start-kubernetes.ts";
import { freePorts } from "../support/net/free-ports.ts";
import { startLoad } from "../support/net/start-load.ts";
import { startAnySecrets } from "../support/sds/any-secrets.ts";
import { sharedPlace } from "../support/shared-place.ts";
import { until } from "../support/wait/until.ts";
import { openSotw } from "../support/xds/ads-client.ts";

const place = sharedPlace(["kubernetes", "envoy"], async (opened) => {
  const kubernetes = opened.add(await startKubernetes());
  const named = (kind: string, name: string, namespace?: string) => ({
    apiVersion: "v1",
    kind,
    metadata: { name, ...(namespace !== undefined && { namespace }) },
  });
  await kubernetes.apply(manifests(named("Namespace", "edge"), named("Namespace", "istio-system")));
  await kubernetes.apply(manifests(named("ServiceAccount", "gateway", "edge"), named("ServiceAccount", "web", "edge")));
  await kubernetes.apply(manifests(...readsSecrets("gateway")));
  await kubernetes.apply(ruleDefinitions(["Gateway", "VirtualService"]));
  const server = opened.add(
    await startDiscoveryServer({ kubernetes: { kubeconfig: kubernetes.kubeconfig, environment: {} } }),
  );
  const ca = await createTestCa();
  return { kubernetes, server, ca };
});

function manifests(...objects: readonly object[]): readonly Manifest[] {
  return objects as readonly Manifest[];
}

function readsSecrets(account: string): readonly object[] {
  const [metadata, apiGroup] = [{ name: `secrets-${account}`, namespace: "edge" }, "rbac.authorization.k8s.io"];
  return [
    {
      apiVersion: `${apiGroup}/v1`,
      kind: "Role",
      metadata,
      rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["get", "watch", "list"] }],
    },
    {
      apiVersion: `${apiGroup}/v1`,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup, kind: "Role", name: metadata.name },
      subjects: [{ kind: "ServiceAccount", name: account, namespace: "edge" }],
    },
  ];
}

const tokenOf = (account: string) => place().kubernetes.token({ namespace: "edge", account, audiences: ["istio-ca"] });

/** One request on a connection of its own; resolves to the serial number of the certificate that the gateway showed. */
function serialOf(port: number, host: string, ca: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, path: "/", servername: host, headers: { host }, ca, agent: false };
    const outgoing = request({ ...options, timeout: 20_000 }, (response) => {
      const { serialNumber } = (response.socket as TLSSocket).getPeerCertificate();
      response.resume();
      response.once("end", () =>
        response.statusCode === 200
          ? resolve(serialNumber)
          : reject(Object.assign(new Error(`status ${response.statusCode}`), { code: "unexpected-status" })),
      );
    });
    outgoing.once("timeout", () => outgoing.destroy(new Error("no answer within 20 s")));
    outgoing.once("error", reject);
    outgoing.end();
  });
}

const ROTATIONS = 5;

describe.each(["sotw", "delta"] as const)("a stock Envoy over %s", (protocol) => {
  test("has its certificates from Secrets, a missing one blocks no other host, and a rotation under load fails no handshake", async () => {
    const { kubernetes, server, ca } = place();
    const [port = 0] = await freePorts(1);
    const rule = {
      apiVersion: "networking.istio.io/v1",
      kind: "VirtualService",
      metadata: { name: "answer", namespace: "edge" },
      spec: { hosts: ["*"], gateways: ["gateway"], http: [{ directResponse: { status: 200 } }] },
    };
    const gateway = tlsGateway("edge", port, { "a.example": "a", "b.example": "never-there" });
    await kubernetes.apply(manifests(tlsSecret("edge", "a", await ca.pair(["a.example"])), gateway, rule));
    using folder = temporaryFolder();
    await using _agent = await startAnySecrets(folder.file("sds"));
    await using envoy = await runGatewayEnvoy({
      sdsPath: folder.file("sds"),
      xdsPort: server.ports.secureGrpc,
      rootPem: server.discovery.rootPem,
      token: await tokenOf("gateway"),
      namespace: "edge",
      account: "gateway",
      protocol,
    });
    const ask = () => serialOf(port, "a.example", ca.rootPem);
    await until("the gateway answers", async () => {
      await ask();
    });
    const load = startLoad(ask, { lanes: 20 });
    await until(() => expect(load.answers.size).toBe(1));
    for (let rotation = 0; rotation < ROTATIONS; rotation += 1) {
      const seen = load.answers.size;
      await kubernetes.apply(manifests(tlsSecret("edge", "a", await ca.pair(["a.example"]))));
      await until(() => expect(load.answers.size).toBe(seen + 1));
    }
    await load.stop();
    expect(load.failures).toEqual([]);
    expect(load.answers.size).toBe(ROTATIONS + 1);
    await expect(serialOf(port, "b.example", ca.rootPem)).rejects.toThrow();
    expect(server.log.text()).toContain("there is no Secret edge/never-there");
    expect(await envoy.stat("update_rejected")).toBe(0);
  });
});

test("an account gets Secrets from the moment it may list them, and a rotated one goes only to who uses it", async () => {
  const { kubernetes, server, ca } = place();
  const pair = await ca.pair(["c.example"]);
  await kubernetes.apply(manifests(tlsSecret("edge", "c", pair), tlsSecret("edge", "d", pair)));
  const open = async (account: string, resource: string) => {
    const stream = openSotw({
      port: server.ports.secureGrpc,
      token: await tokenOf(account),
      tls: { ca: server.discovery.rootPem },
    });
    stream.send({ node: gatewayNode("edge", account), typeUrl: SECRET_TYPE, resourceNames: [resource] });
    return stream;
  };
  await using denied = await open("web", "kubernetes://c");
  await until(() =>
    expect(server.log.text()).toContain("service account edge/web may not list secrets in namespace edge"),
  );
  await using one = await open("gateway", "kubernetes://c");
  await using other = await open("gateway", "kubernetes://d");
  expect(certificatesOf(await one.next())).toEqual({ "kubernetes://c": pair.cert });
  expect(certificatesOf(await other.next())).toEqual({ "kubernetes://d": pair.cert });
  const next = await ca.pair(["c.example"]);
  await kubernetes.apply(manifests(tlsSecret("edge", "c", next)));
  expect(certificatesOf(await one.next())).toEqual({ "kubernetes://c": next.cert });
  expect([denied.responses.length, other.responses.length]).toEqual([0, 1]);
});

test("a control plane that may not read the Secrets of a namespace says so, and sends them when it may", async () => {
  const { kubernetes, ca } = place();
  const pair = await ca.pair(["g.example"]);
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "plane", namespace: "istio-system" } };
  await kubernetes.apply(manifests(account, tlsSecret("edge", "g", pair)));
  const grant = async (
    kind: "role" | "clusterrole",
    name: string,
    namespace: string | undefined,
    resources: string,
  ) => {
    const scope = namespace === undefined ? [] : ["-n", namespace];
    const verbs = "--verb=get,list,watch,create,update,patch";
    await kubernetes.kubectl([...scope, "create", kind, name, verbs, `--resource=${resources}`]);
    const binding = [...scope, "create", `${kind}binding`, name, `--${kind}=${name}`];
    await kubernetes.kubectl([...binding, "--serviceaccount=istio-system:plane"]);
  };
  const reviews = "tokenreviews.authentication.k8s.io,subjectaccessreviews.authorization.k8s.io";
  const core = "configmaps,namespaces,nodes,pods,services,leases.coordination.k8s.io,endpointslices.discovery.k8s.io";
  const rules =
    "customresourcedefinitions.apiextensions.k8s.io,gateways.networking.istio.io,virtualservices.networking.istio.io";
  await grant("clusterrole", "plane", undefined, [reviews, core, rules].join(","));
  await grant("role", "plane", "istio-system", "secrets");
  using folder = temporaryFolder();
  const token = await kubernetes.token({ namespace: "istio-system", account: "plane" });
  folder.write("kubeconfig", kubernetes.kubeconfigFor({ token }));
  await using server = await startDiscoveryServer({
    kubernetes: { kubeconfig: folder.file("kubeconfig"), environment: {} },
  });
  await using stream = openSotw({
    port: server.ports.secureGrpc,
    token: await tokenOf("gateway"),
    tls: { ca: server.discovery.rootPem },
  });
  stream.send({ node: gatewayNode("edge"), typeUrl: SECRET_TYPE, resourceNames: ["kubernetes://g"] });
  await until(() =>
    expect(server.log.text()).toMatch(/credential cannot be sent.*(list|watch) secrets in namespace edge/),
  );
  await grant("role", "plane", "edge", "secrets");
  expect(certificatesOf(await stream.next())).toEqual({ "kubernetes://g": pair.cert });
});

test("roots come from ca.crt of the Secret, from a Secret of their own, and from a ConfigMap", async () => {
  const { kubernetes, server, ca } = place();
  const base64 = Buffer.from(ca.rootPem).toString("base64");
  const secret = tlsSecret("edge", "e", await ca.pair(["e.example"]));
  const generic = { apiVersion: "v1", kind: "Secret", metadata: { name: "f-cacert", namespace: "edge" } };
  await kubernetes.apply(
    manifests(
      { ...secret, data: { ...secret.data, "ca.crt": base64 } },
      { ...generic, data: { cacert: base64 } },
      {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "roots", namespace: "istio-system" },
        data: { "ca.crt": ca.rootPem },
      },
    ),
  );
  await using stream = openSotw({
    port: server.ports.secureGrpc,
    token: await tokenOf("web"),
    tls: { ca: server.discovery.rootPem },
  });
  const names = ["kubernetes://e-cacert", "kubernetes://f-cacert", "configmap://istio-system/roots"];
  stream.send({ node: gatewayNode("edge", "web"), typeUrl: SECRET_TYPE, resourceNames: names });
  const expected = Object.fromEntries(names.map((name) => [name, ca.rootPem]));
  await until(() =>
    expect(Object.assign({}, ...stream.responses.map((response) => certificatesOf(response)))).toEqual(expected),
  );
});
