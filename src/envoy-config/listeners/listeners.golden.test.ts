import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readGoldenCases } from "../../../test/conformance/discovery/golden-cases.ts";
import { compareListeners, describeDifference } from "../../../test/conformance/discovery/index.ts";
import type { Json } from "../../../test/conformance/discovery/json.ts";
import { viewOfCase } from "../../../test/support/mesh-model/view-of-case.ts";
import { skipWith } from "../../../test/support/skip-with.ts";
import { decodeMessage, encodeMessage } from "../../protobuf/envoy/index.ts";
import { buildAccessPolicies } from "../authz/access-policies.ts";
import { generateGatewayListeners } from "../gateway/gateway-listeners.ts";
import { generateInboundListeners } from "./inbound.ts";
import { generateOutboundListeners } from "./outbound.ts";

const root = join(
  process.env.CONFORMANCE_DIR ?? join(import.meta.dirname, "../../../../shared/conformance"),
  "discovery",
);
const LISTENER = "envoy.config.listener.v3.Listener";

/** Patches are put in by others; proxyless clients have other listeners. */
const OTHERS = new Set(["envoy-filter-patches", "grpc-proxyless-client"]);
const cases = existsSync(root) ? readGoldenCases(root).filter(({ name }) => !OTHERS.has(name)) : [];

describe("listeners of the captured meshes", () => {
  test("there are cases", (context) => {
    if (cases.length === 0) skipWith(context, `no cases in ${root}`);
    expect(cases.length).toBeGreaterThan(30);
  });

  test.each(cases)("$name: as the reference sends them", ({ configYaml, meshYaml, node, listeners, context }) => {
    const view = viewOfCase(configYaml, meshYaml, JSON.stringify(node));
    const inbound = generateInboundListeners(view, buildAccessPolicies(view));
    const { outbound } = view;
    const generate = outbound.gateways === undefined ? generateOutboundListeners : generateGatewayListeners;
    const ours = [...generate(outbound).listeners, ...inbound.listeners];
    // On the wire and back: what Envoy will see.
    const sent = ours.map((listener) => decodeMessage(LISTENER, encodeMessage(LISTENER, listener)));
    const received: readonly Json[] = JSON.parse(JSON.stringify(sent));
    expect(compareListeners(listeners, received, { context }).map(describeDifference)).toEqual([]);
  });
});
