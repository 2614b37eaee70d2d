import { expect, test } from "vitest";
import { parseMeshFile, previewPlan } from "../../mesh/index.ts";
import { reviewRules } from "./review.ts";

const parsed = parseMeshFile(`namespace: shop
services:
  web: {port: 8080, command: web}
  api: {port: 9090, protocol: grpc, command: api, versions: {v1: {}, v2: {}}}
`);
if (!("file" in parsed)) throw new Error("the mesh file of this test is wrong");
const mesh = previewPlan(parsed.file);

const rule = (kind: string, spec: string, metadata = "{name: x}") =>
  `apiVersion: ${kind === "PeerAuthentication" || kind === "AuthorizationPolicy" ? "security" : "networking"}.istio.io/v1
kind: ${kind}
metadata: ${metadata}
spec: ${spec}
`;

test.each<{ what: string; text: string; errors?: RegExp; warnings?: RegExp }>([
  {
    what: "a kind with a typing error",
    text: rule("VirtualServce", "{hosts: [web]}"),
    errors: /^rules\.yaml:1: kind VirtualServce is not known; did you mean VirtualService\? \(VirtualServce shop\/x\)$/,
  },
  {
    what: "a kind of Kubernetes",
    text: "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n",
    warnings: /^rules\.yaml:2:1: kind: apps\/v1 Deployment is not a kind that is read: it has no effect/,
  },
  {
    what: "an unknown member",
    text: rule("VirtualService", "{hosts: [web], htp: [], http: [{route: [{destination: {host: web}}]}]}"),
    warnings: /^rules\.yaml:4:\d+: spec\.?.*htp.* it is ignored/,
  },
  {
    what: "an unknown host",
    text: rule("VirtualService", "{hosts: [web], http: [{route: [{destination: {host: wep}}]}]}"),
    errors: /^rules\.yaml:4: host not found: "wep": no service of this name .* \(VirtualService shop\/x\)$/,
  },
  {
    what: "an unknown subset",
    text: rule("VirtualService", "{hosts: [api], http: [{route: [{destination: {host: api, subset: v9}}]}]}"),
    errors: /^rules\.yaml:4: host\+subset in destinationrule not found: "api\+v9"/,
  },
  {
    what: "a subset that selects no workload",
    text: rule("DestinationRule", "{host: api, subsets: [{name: v9, labels: {version: v9}}]}"),
    errors: /^rules\.yaml:4: .*v9/,
  },
  {
    what: "a policy of a namespace without workloads",
    text: rule("PeerAuthentication", "{mtls: {mode: STRICT}}", "{name: x, namespace: other}"),
    warnings: /^rules\.yaml:1: no workload is in namespace other: all of this mesh are in shop, so it selects none/,
  },
  {
    what: "a Gateway without a router",
    text: rule(
      "Gateway",
      "{selector: {istio: ingressgateway}, servers: [{port: {number: 80, name: http, protocol: HTTP}, hosts: ['*']}]}",
    ),
    errors: /^rules\.yaml:4: selector not found: "istio=ingressgateway".* \(Gateway shop\/x\)$/,
  },
  {
    what: "a ServiceEntry with the host of a service",
    text: rule(
      "ServiceEntry",
      "{hosts: [web.shop.svc.cluster.local], ports: [{number: 80, name: http}], resolution: DNS}",
    ),
    errors: /^rules\.yaml:1: it would take the place of the service web of the mesh file; rename it/,
  },
  {
    what: "a ServiceEntry that is called like a service",
    text: rule(
      "ServiceEntry",
      "{hosts: [example.com], ports: [{number: 80, name: http}], resolution: DNS}",
      "{name: api}",
    ),
    errors: /^rules\.yaml:1: it would take the place of the service api of the mesh file/,
  },
  {
    what: "a selector that selects no workload",
    text: rule("AuthorizationPolicy", "{selector: {matchLabels: {app: wep}}, rules: [{}]}"),
    warnings: /^rules\.yaml:4: no workload of the mesh with labels app=wep/,
  },
])("$what is found, with file and line", async ({ text, errors, warnings }) => {
  const found = await reviewRules(mesh, [{ file: "rules.yaml", text }]);
  if (errors === undefined) expect(found.errors).toEqual([]);
  else expect(found.errors).toEqual([expect.stringMatching(errors)]);
  if (warnings !== undefined) expect(found.warnings).toEqual([expect.stringMatching(warnings)]);
});

test("rules that fit the mesh give no finding, also for services with versions", async () => {
  const text = [
    rule("DestinationRule", "{host: api, subsets: [{name: v1, labels: {version: v1}}]}"),
    rule("VirtualService", "{hosts: [api], http: [{route: [{destination: {host: api, subset: v1}}]}]}"),
    rule("AuthorizationPolicy", "{selector: {matchLabels: {app: web}}, rules: [{}]}"),
    rule("PeerAuthentication", "{mtls: {mode: PERMISSIVE}}", "{name: x, namespace: istio-system}"),
  ].join("---\n");
  expect(await reviewRules(mesh, [{ file: "rules.yaml", text }])).toEqual({ errors: [], warnings: [] });
});

test("an object inside the mesh file is found at its line there", async () => {
  const text = JSON.stringify({ apiVersion: "networking.istio.io/v1", kind: "Gatewayy", metadata: { name: "x" } });
  const { errors } = await reviewRules(mesh, [{ file: "mesh.yaml", text, line: 17 }]);
  expect(errors).toEqual([expect.stringMatching(/^mesh\.yaml:17: kind Gatewayy is not known; did you mean Gateway\?/)]);
});

test("an applied object has no line, and is told apart from files", async () => {
  const text = JSON.stringify({ apiVersion: "networking.istio.io/v1", kind: "Gatewayy", metadata: { name: "x" } });
  const { errors } = await reviewRules(mesh, [{ file: "applied", text, line: 1 }]);
  expect(errors).toEqual([expect.stringMatching(/^applied: kind Gatewayy is not known; did you mean Gateway\?/)]);
});
