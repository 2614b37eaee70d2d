import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readGoldenCases } from "../../../test/conformance/discovery/golden-cases.ts";
import { compareNameTable, compareRoutes, describeDifference } from "../../../test/conformance/discovery/index.ts";
import { text } from "../../../test/conformance/discovery/json.ts";
import { viewOfCase } from "../../../test/support/mesh-model/view-of-case.ts";
import { skipWith } from "../../../test/support/skip-with.ts";
import { decodeMessage, encodeMessage } from "../../protobuf/envoy/index.ts";
import { decodeNameTable } from "../../xds/name-table.ts";
import { generateGatewayRoute } from "../gateway/gateway-routes.ts";
import { encodeNameTable, generateNameTable } from "../name-table.ts";
import { generateRoute } from "./generate-route.ts";

const ROUTES = "envoy.config.route.v3.RouteConfiguration";
const root = join(
  process.env.CONFORMANCE_DIR ?? join(import.meta.dirname, "../../../../shared/conformance"),
  "discovery",
);
const cases = existsSync(root) ? readGoldenCases(root) : [];

/** Not of a proxy, or changed by patches of the user. */
const OTHER = new Set(["grpc-proxyless-client", "envoy-filter-patches"]);

describe("routes of the captured cases", () => {
  test("there are cases", (context) => {
    if (cases.length === 0) skipWith(context, `no cases in ${root}`);
    expect(cases.length).toBeGreaterThan(30);
  });

  test.each(cases.filter(({ name }) => !OTHER.has(name)))("$name", ({ configYaml, meshYaml, node, ...golden }) => {
    const { outbound } = viewOfCase(configYaml, meshYaml, node as never);
    const ours = golden.routes.map(({ name }) => {
      const generate = outbound.gateways === undefined ? generateRoute : generateGatewayRoute;
      const bytes = encodeMessage(ROUTES, generate(outbound, text(name)));
      return decodeMessage(ROUTES, bytes) as never;
    });
    expect(compareRoutes(golden.routes, ours, golden.context).map(describeDifference)).toEqual([]);
  });

  test.each(cases.filter(({ nameTable }) => nameTable !== undefined))("name table of $name", (golden) => {
    const { outbound } = viewOfCase(golden.configYaml, golden.meshYaml, golden.node as never);
    const bytes = encodeNameTable(generateNameTable(outbound));
    const { table } = decodeNameTable(bytes);
    const ours = Object.fromEntries(
      Object.entries(table).map(([host, info]) => [
        host,
        Object.fromEntries(Object.entries(info).filter(([, value]) => value.length > 0)),
      ]),
    );
    expect(compareNameTable(golden.nameTable ?? {}, { table: ours }, golden.context).map(describeDifference)).toEqual(
      [],
    );
  });
});
