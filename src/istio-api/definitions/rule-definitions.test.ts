import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { definitionText } from "../../../test/support/deploy/definition-text.ts";
import type { MessageTable } from "../../protobuf/message-tables.ts";
import { istioMessage, KINDS } from "../kinds.ts";
import { descriptionsOf, shortName } from "./message-schema.ts";
import { ruleDefinitions } from "./rule-definitions.ts";

const definitionOf = (kind: string) => ruleDefinitions().find(({ spec }) => spec.names.kind === kind);

test("the definitions in deploy/ are those of the message tables (node scripts/generate-deploy.mjs)", () => {
  const file = new URL("../../../deploy/charts/base/files/definitions.yaml", import.meta.url);
  expect(readFileSync(file, "utf8")).toBe(definitionText());
});

test("every kind that the control plane reads has a definition that serves all of its versions and stores one", () => {
  for (const [kind, { group, versions }] of Object.entries(KINDS)) {
    const spec = definitionOf(kind)?.spec;
    expect(spec?.group, kind).toBe(group);
    expect(spec?.versions.map(({ name }) => name)).toEqual(versions);
    expect(spec?.versions.filter(({ storage }) => storage)).toHaveLength(1);
  }
});

test("kinds that have no effect say so whenever they are used", () => {
  const [version] = definitionOf("TrafficExtension")?.spec.versions ?? [];
  expect(version).toMatchObject({ deprecated: true, deprecationWarning: expect.stringContaining("has no effect") });
});

test("every field of every message has a description, and no description is of a field that does not exist", () => {
  const seen = new Set<string>();
  const undescribed: string[] = [];
  const visit = (table: MessageTable) => {
    if (seen.has(table.name)) return;
    seen.add(table.name);
    const texts = descriptionsOf(shortName(table));
    for (const { name, type } of table.byName.values()) {
      if ((texts.get(name) ?? "") === "") undescribed.push(`${table.name}.${name}`);
      if (type.kind === "message") visit(type.table);
    }
  };
  for (const { spec } of Object.values(KINDS)) visit(istioMessage(spec));
  visit(istioMessage("istio.extensions.v1alpha1.WasmPlugin"));
  visit(istioMessage("istio.extensions.v1alpha1.TrafficExtension"));
  expect(undescribed).toEqual([]);
});

test.each([
  {
    what: "an enum is its names",
    path: "AuthorizationPolicy.action",
    schema: { enum: ["ALLOW", "DENY", "AUDIT", "CUSTOM"] },
  },
  { what: "a duration is text", path: "VirtualService.http.items.timeout", schema: { type: "string" } },
  { what: "a wrapper may be null", path: "Sidecar.ingress.items.tls.insecureSkipVerify", schema: { nullable: true } },
  {
    what: "a free form object keeps what it holds",
    path: "EnvoyFilter.configPatches.items.patch.value",
    schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  },
  {
    what: "of a oneof one member is set at most",
    path: "VirtualService.http.items.match.items.uri",
    schema: {
      oneOf: [{ not: expect.anything() }, { required: ["exact"] }, { required: ["prefix"] }, { required: ["regex"] }],
    },
  },
])("$what", ({ path, schema }) => {
  const [kind = "", ...steps] = path.split(".");
  let found: unknown = definitionOf(kind)?.spec.versions[0]?.schema.openAPIV3Schema.properties?.spec;
  for (const step of steps) {
    const { properties = {}, items } = found as { properties?: Record<string, unknown>; items?: unknown };
    found = step === "items" ? items : properties[step];
  }
  expect(found).toMatchObject(schema);
});
