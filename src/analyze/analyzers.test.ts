import { describe, expect, test } from "vitest";
import { findingsOf } from "../../test/support/mesh-model/findings-of.ts";

const document = (apiVersion: string, kind: string, name: string, body: object, metadata: object = {}) =>
  JSON.stringify({ apiVersion, kind, metadata: { name, namespace: "prod", ...metadata }, ...body });
const istio = (kind: string, name: string, spec: object, metadata: object = {}) => {
  const security = ["AuthorizationPolicy", "RequestAuthentication", "PeerAuthentication"].includes(kind);
  const version = kind === "EnvoyFilter" ? "v1alpha3" : kind === "ProxyConfig" ? "v1beta1" : "v1";
  const group = security ? "security" : kind === "Telemetry" ? "telemetry" : "networking";
  return document(`${group}.istio.io/${version}`, kind, name, { spec }, metadata);
};
const service = (name: string, spec: object = {}, metadata: object = {}) =>
  document(
    "v1",
    "Service",
    name,
    { spec: { selector: { app: name }, ports: [{ name: "http", port: 80 }], ...spec } },
    metadata,
  );
const pod = (name: string, labels: object = { app: name }, spec: object = {}, metadata: object = {}) =>
  document(
    "v1",
    "Pod",
    name,
    { spec: { containers: [{ name: "istio-proxy", image: "p" }], ...spec } },
    { labels, ...metadata },
  );
const namespace = (name: string, labels: object = {}) =>
  JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels } });
const deployment = (name: string, template: object) => document("apps/v1", "Deployment", name, { spec: { template } });
const to = (host: string, more: object = {}) => ({ destination: { host, ...more } });
const virtual = (name: string, spec: object, metadata: object = {}) =>
  istio("VirtualService", name, { hosts: ["web"], ...spec }, metadata);
const rule = (name: string, spec: object) => istio("DestinationRule", name, { host: "web", ...spec });
const gateway = (name: string, server: object = {}, selector: object = { istio: "ingressgateway" }) =>
  istio("Gateway", name, {
    selector,
    servers: [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["shop.example"], ...server }],
  });
const filter = (name: string, patch: object, more: object = {}) =>
  istio("EnvoyFilter", name, {
    configPatches: [{ applyTo: "HTTP_FILTER", patch: { value: { name: "f" }, ...patch } }],
    ...more,
  });

/** `Name Kind namespace/name`, without those that the small cases bring along by what they leave out. */
function found(...documents: readonly string[]): readonly string[] {
  const noise = ["VirtualServiceHostUnknown", "NamespaceNotInjected"];
  return findingsOf(documents.join("\n---\n"))
    .filter(({ name }) => !noise.includes(name))
    .map(
      ({ name, object }) =>
        `${name} ${object.kind} ${object.namespace === "" ? "" : `${object.namespace}/`}${object.name}`,
    );
}

const WEB = service("web");

describe("VirtualService", () => {
  test.each([
    {
      is: "an unknown host",
      given: [WEB, virtual("v", { http: [{ route: [to("nowhere")] }] })],
      gives: ["ReferencedResourceNotFound"],
    },
    {
      is: "an unknown mirror",
      given: [WEB, virtual("v", { http: [{ route: [to("web")], mirror: { host: "x" } }] })],
      gives: ["ReferencedResourceNotFound"],
    },
    {
      is: "an unknown port",
      given: [WEB, virtual("v", { http: [{ route: [to("web", { port: { number: 81 } })] }] })],
      gives: ["ReferencedResourceNotFound"],
    },
    {
      is: "a known host and port",
      given: [WEB, virtual("v", { http: [{ route: [to("web", { port: { number: 80 } })] }] })],
      gives: [],
    },
    {
      is: "no port where there are two",
      given: [
        service("web", {
          ports: [
            { name: "http", port: 80 },
            { name: "grpc", port: 90 },
          ],
        }),
        virtual("v", { http: [{ route: [to("web")] }] }),
      ],
      gives: ["VirtualServiceDestinationPortSelectorRequired"],
    },
    {
      is: "a subset without rule",
      given: [WEB, virtual("v", { http: [{ route: [to("web", { subset: "v1" })] }] })],
      gives: ["ReferencedResourceNotFound"],
    },
    {
      is: "a rule behind one that takes all",
      given: [WEB, virtual("v", { http: [{ route: [to("web")] }, { route: [to("web")] }] })],
      gives: ["VirtualServiceUnreachableRule"],
    },
    {
      is: "a narrower prefix behind a wider one",
      given: [
        WEB,
        virtual("v", { http: ["/a", "/a/b"].map((prefix) => ({ match: [{ uri: { prefix } }], route: [to("web")] })) }),
      ],
      gives: ["VirtualServiceIneffectiveMatch"],
    },
    {
      is: "a wider prefix behind a narrower one",
      given: [
        WEB,
        virtual("v", { http: ["/a/b", "/a"].map((prefix) => ({ match: [{ uri: { prefix } }], route: [to("web")] })) }),
      ],
      gives: [],
    },
    {
      is: "an unknown gateway",
      given: [WEB, virtual("v", { gateways: ["g"], http: [{ route: [to("web")] }] })],
      gives: ["ReferencedResourceNotFound", "VirtualServiceHostNotFoundInGateway"],
    },
    {
      is: "a gateway with the host",
      given: [
        WEB,
        gateway("g"),
        virtual("v", { hosts: ["shop.example"], gateways: ["g"], http: [{ route: [to("web")] }] }),
      ],
      gives: [],
    },
    {
      is: "a gateway with other hosts",
      given: [
        WEB,
        gateway("g"),
        virtual("v", { hosts: ["x.example"], gateways: ["g"], http: [{ route: [to("web")] }] }),
      ],
      gives: ["VirtualServiceHostNotFoundInGateway"],
    },
    {
      is: "a route by a claim that nothing checks",
      given: [
        WEB,
        gateway("g"),
        virtual("v", {
          hosts: ["shop.example"],
          gateways: ["g"],
          http: [{ match: [{ headers: { "@request.auth.claims.sub": { exact: "x" } } }], route: [to("web")] }],
        }),
      ],
      gives: ["JwtClaimBasedRoutingWithoutRequestAuthN"],
    },
  ])("$is: $gives", ({ given, gives }) => {
    expect(found(...given)).toEqual(gives.map((name) => `${name} VirtualService prod/v`));
  });

  test("a service that is not exported to the rule's namespace is not found, one that is exported is", () => {
    const hidden = (exportTo: string) =>
      service("api", {}, { namespace: "lab", annotations: { "networking.istio.io/exportTo": exportTo } });
    const rules = virtual("v", {
      hosts: ["api.lab.svc.cluster.local"],
      http: [{ route: [to("api.lab.svc.cluster.local")] }],
    });
    expect(found(hidden("."), rules)).toEqual(["ReferencedResourceNotFound VirtualService prod/v"]);
    expect(found(hidden("prod"), rules)).toEqual([]);
  });

  test("a host that no service has is only said: requests to it may be meant", () => {
    const rules = virtual("v", { hosts: ["nowhere.example"], http: [{ route: [to("web")] }] });
    const said = (...documents: readonly string[]) =>
      findingsOf(documents.join("\n---\n")).filter(({ name }) => name === "VirtualServiceHostUnknown");
    expect(said(WEB, rules)).toMatchObject([{ code: "PA0003", level: "Info", object: { name: "v" } }]);
    expect(said(WEB, virtual("v", { http: [{ route: [to("web")] }] }))).toEqual([]);
  });

  test("two rules for one host conflict where both are seen, and never one with itself", () => {
    const route = { http: [{ route: [to("web")] }] };
    const conflict = "ConflictingMeshGatewayVirtualServiceHosts VirtualService prod/";
    expect(found(WEB, virtual("a", route), virtual("b", route))).toEqual([`${conflict}a`, `${conflict}b`]);
    expect(found(WEB, virtual("a", { ...route, hosts: ["web", "web.prod.svc.cluster.local"] }))).toEqual([]);
    const elsewhere = virtual("b", {
      hosts: ["web.prod.svc.cluster.local"],
      exportTo: ["lab"],
      http: [{ route: [to("web.prod.svc.cluster.local")] }],
    });
    expect(found(WEB, virtual("a", { ...route, exportTo: ["."] }), elsewhere)).toEqual([]);
  });
});

describe("DestinationRule", () => {
  test.each([
    { is: "an unknown host", given: [rule("d", { host: "nowhere" })], gives: ["UnknownDestinationRuleHost"] },
    {
      is: "a subset without pod",
      given: [WEB, pod("web"), rule("d", { subsets: [{ name: "v1", labels: { version: "v1" } }] })],
      gives: ["DestinationRuleSubsetNotSelectPods"],
    },
    {
      is: "a subset with a pod",
      given: [
        WEB,
        pod("web", { app: "web", version: "v1" }),
        rule("d", { subsets: [{ name: "v1", labels: { version: "v1" } }] }),
      ],
      gives: [],
    },
    {
      is: "TLS without CA",
      given: [WEB, rule("d", { trafficPolicy: { tls: { mode: "SIMPLE" } } })],
      gives: ["NoServerCertificateVerificationDestinationLevel"],
    },
    {
      is: "TLS with CA",
      given: [WEB, rule("d", { trafficPolicy: { tls: { mode: "SIMPLE", caCertificates: "/ca.pem" } } })],
      gives: [],
    },
    {
      is: "TLS without CA on a port",
      given: [
        WEB,
        rule("d", { trafficPolicy: { portLevelSettings: [{ port: { number: 80 }, tls: { mode: "SIMPLE" } }] } }),
      ],
      gives: ["NoServerCertificateVerificationPortLevel"],
    },
  ])("$is: $gives", ({ given, gives }) => {
    expect(found(...given)).toEqual(gives.map((name) => `${name} DestinationRule prod/d`));
  });
});

describe("Gateway", () => {
  test.each([
    {
      is: "no pod",
      given: [gateway("g", {}, { app: "none" })],
      gives: ["ReferencedResourceNotFound", "ReferencedResourceNotFound"],
    },
    {
      is: "a port that no service has",
      given: [gateway("g", { port: { number: 81, name: "http", protocol: "HTTP" } })],
      gives: ["GatewayPortNotDefinedOnService"],
    },
    {
      is: "a Secret that is missing",
      given: [
        gateway("g", {
          port: { number: 443, name: "https", protocol: "HTTPS" },
          tls: { mode: "SIMPLE", credentialName: "shop" },
        }),
      ],
      gives: ["ReferencedResourceNotFound"],
    },
    {
      is: "a Secret without key",
      given: [
        gateway("g", {
          port: { number: 443, name: "https", protocol: "HTTPS" },
          tls: { mode: "SIMPLE", credentialName: "shop" },
        }),
        document("v1", "Secret", "shop", { data: { "tls.crt": "eA==" } }, { namespace: "istio-system" }),
      ],
      gives: ["InvalidGatewayCredential"],
    },
  ])("$is: $gives", ({ given, gives }) => {
    expect(found(...given)).toEqual(gives.map((name) => `${name} Gateway prod/g`));
  });

  test("one certificate in two gateways of the same pods is found in both", () => {
    const tls = { mode: "SIMPLE", credentialName: "shop" };
    const secure = (name: string) =>
      gateway(name, { port: { number: 443, name: "https", protocol: "HTTPS" }, hosts: [`${name}.example`], tls });
    const all = found(secure("a"), secure("b")).filter((one) => one.startsWith("GatewayDuplicate"));
    expect(all).toEqual(["a", "b"].map((name) => `GatewayDuplicateCertificate Gateway prod/${name}`));
  });

  test("two gateways with one host and port at the same pods conflict, with other hosts they do not", () => {
    expect(found(gateway("a"), gateway("b"))).toEqual(
      ["a", "b"].map((name) => `ConflictingGateways Gateway prod/${name}`),
    );
    expect(found(gateway("a"), gateway("b", { hosts: ["other.example"] }))).toEqual([]);
  });
});

describe("workloads and policies", () => {
  const sidecar = (name: string, labels?: object) =>
    istio("Sidecar", name, { egress: [{ hosts: ["./*"] }], ...(labels && { workloadSelector: { labels } }) });
  const policy = (spec: object) => istio("AuthorizationPolicy", "p", spec);
  const injected = deployment("web", { metadata: { labels: { app: "web", "sidecar.istio.io/inject": "true" } } });
  test.each([
    {
      is: "a Sidecar for no pod",
      given: [sidecar("s", { app: "x" })],
      gives: ["ReferencedResourceNotFound Sidecar prod/s"],
    },
    {
      is: "two Sidecars for one pod",
      given: [pod("web"), sidecar("a", { app: "web" }), sidecar("b", { app: "web" })],
      gives: ["a", "b"].map((name) => `ConflictingSidecarWorkloadSelectors Sidecar prod/${name}`),
    },
    {
      is: "two Sidecars for a namespace",
      given: [sidecar("a"), sidecar("b")],
      gives: ["a", "b"].map((name) => `MultipleSidecarsWithoutWorkloadSelectors Sidecar prod/${name}`),
    },
    {
      is: "a policy for no workload",
      given: [policy({ selector: { matchLabels: { app: "x" } }, rules: [{}] })],
      gives: ["NoMatchingWorkloadsFound AuthorizationPolicy prod/p"],
    },
    {
      is: "a policy about an unknown namespace",
      given: [pod("web"), policy({ rules: [{ from: [{ source: { namespaces: ["lab"] } }] }] })],
      gives: ["ReferencedResourceNotFound AuthorizationPolicy prod/p"],
    },
    {
      is: "a policy that refuses all",
      given: [pod("web"), policy({ action: "DENY", rules: [{}] })],
      gives: ["AccessDeniedToEverybody AuthorizationPolicy prod/p"],
    },
    {
      is: "a policy that allows nothing",
      given: [pod("web"), policy({})],
      gives: ["SchemaWarning AuthorizationPolicy prod/p"],
    },
    {
      is: "a policy that does nothing",
      given: [pod("web"), policy({ action: "AUDIT" })],
      gives: ["SchemaWarning AuthorizationPolicy prod/p"],
    },
    {
      is: "access logs without provider",
      given: [istio("Telemetry", "t", { accessLogging: [{}] })],
      gives: ["InvalidTelemetryProvider Telemetry prod/t"],
    },
    {
      is: "contradicting labels",
      given: [namespace("lab", { "istio-injection": "enabled", "istio.io/rev": "a" })],
      gives: ["NamespaceMultipleInjectionLabels Namespace lab"],
    },
    {
      is: "a pod without proxy",
      given: [namespace("prod", { "istio-injection": "enabled" }), pod("web", {}, { containers: [{ name: "app" }] })],
      gives: ["PodMissingProxy Pod prod/web"],
    },
    {
      is: "the proxy's user id",
      given: [deployment("web", { spec: { securityContext: { runAsUser: 1337 } } })],
      gives: ["InvalidApplicationUID Deployment prod/web"],
    },
    {
      is: "image: auto without webhook",
      given: [deployment("web", { spec: { containers: [{ name: "a", image: "auto" }] } })],
      gives: ["ImageAutoWithoutInjectionWarning Deployment prod/web"],
    },
    {
      is: "a port name without protocol",
      given: [service("web", { ports: [{ name: "web", port: 80 }] })],
      gives: ["PortNameIsNotUnderNamingConvention Service prod/web"],
    },
    {
      is: "services with one port and two transports",
      given: [
        injected,
        service("a", { selector: { app: "web" }, ports: [{ name: "dns", port: 53, protocol: "UDP" }] }),
        service("b", { selector: { app: "web" }, ports: [{ name: "tcp-dns", port: 53 }] }),
      ],
      gives: ["DeploymentAssociatedToMultipleServices Deployment prod/web"],
    },
    {
      is: "services that lead to one port from two",
      given: [
        injected,
        service("a", { selector: { app: "web" }, ports: [{ name: "http", port: 80, targetPort: 8080 }] }),
        service("b", { selector: { app: "web" }, ports: [{ name: "http", port: 81, targetPort: 8080 }] }),
      ],
      gives: ["DeploymentConflictingPorts Deployment prod/web"],
    },
    {
      is: "ServiceEntries that disagree on a protocol",
      given: ["HTTP", "TCP"].map((protocol, at) =>
        istio("ServiceEntry", `s${at}`, {
          hosts: ["db.example"],
          addresses: ["192.0.2.1"],
          ports: [{ number: 80, name: "p", protocol }],
          resolution: "DNS",
        }),
      ),
      gives: [
        ...["s0", "s1"].map((name) => `ConflictingServiceEntryProtocol ServiceEntry prod/${name}`),
        "RuleWithoutEffect ServiceEntry prod/s1",
      ],
    },
    {
      is: "weights that send nothing anywhere",
      given: [
        WEB,
        virtual("v", {
          http: [
            {
              route: [
                { ...to("web"), weight: 0 },
                { ...to("web"), weight: 0 },
              ],
            },
          ],
        }),
      ],
      gives: ["SchemaValidationError VirtualService prod/v"],
    },
    {
      is: "TCP without address",
      given: [
        istio("ServiceEntry", "s", {
          hosts: ["db.example"],
          ports: [{ number: 1, name: "tcp", protocol: "TCP" }],
          resolution: "DNS",
        }),
      ],
      gives: ["ServiceEntryAddressesRequired ServiceEntry prod/s"],
    },
    {
      is: "a patch that depends on order",
      given: [filter("f", { operation: "INSERT_BEFORE" })],
      gives: ["EnvoyFilterUsesRelativeOperation EnvoyFilter prod/f"],
    },
    { is: "a patch with a priority", given: [filter("f", { operation: "INSERT_BEFORE" }, { priority: 5 })], gives: [] },
  ])("$is: $gives", ({ given, gives }) => {
    expect(found(...given)).toEqual(gives);
  });
});

describe("files of certificates", () => {
  const TLS = { mode: "SIMPLE", serverCertificate: "/etc/tls/cert.pem", privateKey: "/etc/tls/key.pem" };
  const front = gateway("g", { port: { number: 443, name: "https", protocol: "HTTPS" }, tls: TLS }, { app: "front" });
  const ports = [{ name: "https", port: 443 }];
  const pods = (volumes: readonly object[], mounts: readonly object[], name = "front") =>
    pod(name, { app: "front" }, { volumes, containers: [{ name: "istio-proxy", volumeMounts: mounts }] });
  const secret = (...keys: readonly string[]) =>
    document("v1", "Secret", "certs", { data: Object.fromEntries(keys.map((key) => [key, "eA=="])) });
  const volume = { name: "certs", secret: { secretName: "certs" } };
  const mount = { name: "certs", mountPath: "/etc/tls/" };
  const messages = (...documents: readonly string[]) =>
    findingsOf([service("front", { ports }), ...documents].join("\n---\n")).flatMap(({ name, object, message }) =>
      name === "CertificateFileNotFound" ? `${object.kind} ${message}` : [],
    );

  test.each([
    {
      is: "nothing is mounted",
      given: [front, pods([], [{ name: "token", mountPath: "/var/run/token" }])],
      gives: ["cert", "key"].map(
        (file) =>
          `Gateway /etc/tls/${file}.pem does not exist: nothing is mounted there in the proxy of pod prod/front`,
      ),
    },
    {
      is: "its Secret has another key",
      given: [front, secret("cert.pem", "tls.key"), pods([volume], [mount])],
      gives: ["Gateway /etc/tls/key.pem does not exist: Secret prod/certs, which is mounted there, has no key.pem"],
    },
    {
      is: "the mount has it under another name",
      given: [
        front,
        secret("tls.crt", "tls.key"),
        pods(
          [
            {
              name: "certs",
              secret: {
                secretName: "certs",
                items: [
                  { key: "tls.crt", path: "cert.pem" },
                  { key: "gone", path: "key.pem" },
                ],
              },
            },
          ],
          [mount],
        ),
      ],
      gives: ["Gateway /etc/tls/key.pem does not exist: Secret prod/certs, which is mounted there, has no gone"],
    },
    { is: "all is there", given: [front, secret("cert.pem", "key.pem"), pods([volume], [mount])], gives: [] },
    {
      is: "one of the proxies has it",
      given: [
        front,
        pods([], [{ name: "t", mountPath: "/t" }]),
        secret("cert.pem", "key.pem"),
        pods([volume], [mount], "front-2"),
      ],
      gives: [],
    },
    { is: "the Secret is not among the objects", given: [front, pods([volume], [mount])], gives: [] },
    { is: "nothing is known of the proxy", given: [front, pods([], [])], gives: [] },
    {
      is: "a disk is mounted there",
      given: [front, pods([{ name: "certs", hostPath: { path: "/x" } }], [mount])],
      gives: [],
    },
    {
      is: "an optional Secret does not exist",
      given: [
        front,
        document("v1", "Secret", "other", { data: {} }),
        pods([{ name: "certs", secret: { secretName: "certs", optional: true } }], [mount]),
      ],
      gives: ["cert", "key"].map(
        (file) => `Gateway /etc/tls/${file}.pem does not exist: there is no Secret prod/certs`,
      ),
    },
  ])("of a Gateway, where $is: $gives.length", ({ given, gives }) => {
    expect(messages(...given)).toEqual(gives);
  });

  test("of a DestinationRule are those of its clients, and roots of an image are there", () => {
    const tls = (caCertificates: string) => ({ trafficPolicy: { tls: { mode: "SIMPLE", caCertificates } } });
    const client = pods([], [{ name: "token", mountPath: "/var/run/token" }]);
    expect(messages(WEB, client, rule("d", tls("/etc/ca/root.pem")))).toEqual([
      "DestinationRule /etc/ca/root.pem does not exist: nothing is mounted there in the proxy of pod prod/front",
    ]);
    for (const file of ["/etc/ssl/certs/ca-certificates.crt", "system"]) {
      expect(messages(WEB, client, rule("d", tls(file)))).toEqual([]);
    }
    const other = { workloadSelector: { matchLabels: { app: "other" } } };
    expect(messages(WEB, client, rule("d", { ...tls("/etc/ca/root.pem"), ...other }))).toEqual([]);
  });
});

test("an object that breaks a rule of its kind is an error with the member's path, and is looked at all the same", () => {
  const broken = virtual("v", { http: [{ timeout: "soon", route: [to("web")] }] });
  const [first] = findingsOf([WEB, broken].join("\n---\n"));
  expect(first).toMatchObject({ code: "IST0106", message: expect.stringContaining("spec.http[0].timeout") });
  const bad = virtual("v", { http: [{ retries: { attempts: -1 }, route: [to("nowhere")] }] });
  expect(found(WEB, bad)).toContain("ReferencedResourceNotFound VirtualService prod/v");
});

test("nothing is found in a mesh where everything fits", () => {
  const clean = [
    namespace("prod", { "istio-injection": "enabled" }),
    WEB,
    pod("web", { app: "web", version: "v1" }),
    rule("d", { subsets: [{ name: "v1", labels: { version: "v1" } }] }),
    virtual("v", {
      http: [{ match: [{ uri: { prefix: "/a" } }], route: [to("web", { subset: "v1" })] }, { route: [to("web")] }],
    }),
    gateway("g"),
    virtual("edge", { hosts: ["shop.example"], gateways: ["g"], http: [{ route: [to("web", { subset: "v1" })] }] }),
  ];
  expect(findingsOf(clean.join("\n---\n"))).toEqual([]);
});
