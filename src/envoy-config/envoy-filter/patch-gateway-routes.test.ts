import { expect, test } from "vitest";
import {
  gateway,
  type Json,
  object,
  rule,
  scopeOf,
  server,
  toWeb,
} from "../../../test/support/mesh-model/router-view.ts";
import { createResourceSource } from "../create-resource-source.ts";

const tls = { mode: "SIMPLE", serverCertificate: "/c", privateKey: "/k" };
const MESH = [
  gateway([server(80, "HTTP", ["a.example"]), server(443, "HTTPS", ["a.example"], { tls })]),
  rule("v", ["a.example"], toWeb),
];
const ROUTES = ["http.80", "https.443.https-443.edge.default"] as const;

/** Names of the route configurations in which a patch with this match leaves its mark. */
function patchedRoutes(context: string, routeConfiguration: Json): readonly string[] {
  const value = { request_headers_to_remove: ["marked"] };
  const patch = {
    applyTo: "VIRTUAL_HOST",
    match: { context, routeConfiguration },
    patch: { operation: "MERGE", value },
  };
  const filter = object("EnvoyFilter", "ef", { configPatches: [patch] }, "default", "networking.istio.io/v1alpha3");
  const source = createResourceSource({ onProblem: () => undefined });
  const { resources } = source.named(scopeOf([...MESH, filter]), "RDS", ROUTES);
  return resources.filter(({ any }) => Buffer.from(any).includes("marked")).map(({ name }) => name);
}

test.each<{ context?: string; match: Json; gives: readonly string[] }>([
  { match: {}, gives: ROUTES },
  { match: { portNumber: 80 }, gives: ["http.80"] },
  { match: { portNumber: 443 }, gives: [ROUTES[1]] },
  { match: { portName: "https-443" }, gives: [ROUTES[1]] },
  { match: { gateway: "default/edge" }, gives: [ROUTES[1]] },
  { match: { gateway: "default/other" }, gives: [] },
  { match: { name: "http.80" }, gives: ["http.80"] },
  { match: { vhost: { name: "a.example:80" } }, gives: ["http.80"] },
  { context: "ANY", match: {}, gives: ROUTES },
  { context: "SIDECAR_OUTBOUND", match: {}, gives: [] },
])("a patch for $match reaches $gives", ({ context = "GATEWAY", match, gives }) => {
  expect(patchedRoutes(context, match)).toEqual(gives);
});
