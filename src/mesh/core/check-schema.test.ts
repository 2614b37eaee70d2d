import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { checkSchema, type JsonSchema } from "./check-schema.ts";
import { MESH_SCHEMA } from "./mesh-schema.ts";

const said = (schema: JsonSchema, value: unknown) =>
  checkSchema(schema, value).map(({ path, text }) => [path.join("/"), text].filter((part) => part !== "").join(": "));

test.each<{ schema: JsonSchema; value: unknown; says: string[] }>([
  { schema: { type: "string" }, value: "a", says: [] },
  { schema: { type: "string" }, value: 1, says: ["is 1, expected a string"] },
  { schema: { type: ["string", "array"] }, value: true, says: ["is true, expected a string or an array"] },
  { schema: { type: "object" }, value: null, says: ["is empty, expected an object"] },
  { schema: { type: "object" }, value: [], says: ["is an array, expected an object"] },
  { schema: { type: "integer" }, value: 1.5, says: ["is 1.5, expected an integer"] },
  { schema: { type: "integer", minimum: 1, maximum: 3 }, value: 4, says: ["is 4, allowed are 1 to 3"] },
  { schema: { enum: ["a", "b"] }, value: "c", says: ['is "c", allowed are a, b'] },
  { schema: { type: "string", pattern: "^a$" }, value: "b", says: ['is "b", which does not match ^a$'] },
  { schema: { pattern: "^a$", patternErrorMessage: "expected an a" }, value: "b", says: ['is "b", expected an a'] },
  { schema: { type: "string", minLength: 1 }, value: "", says: ["is empty"] },
  { schema: { type: "array", minItems: 1 }, value: [], says: ["is empty"] },
  { schema: { items: { type: "string" } }, value: ["a", 1], says: ["1: is 1, expected a string"] },
  { schema: { required: ["a"] }, value: {}, says: ["a is missing"] },
  { schema: { minProperties: 1 }, value: {}, says: ["is empty"] },
  {
    schema: { propertyNames: { pattern: "^a" } },
    value: { b: 1 },
    says: ['b: the name is "b", which does not match ^a'],
  },
  {
    schema: { properties: { a: {} }, additionalProperties: false },
    value: { other: 1 },
    says: ['other: "other" is not known here, allowed are a'],
  },
  {
    schema: { properties: { command: {} }, additionalProperties: false },
    value: { comand: 1 },
    says: ['comand: "comand" is not known here; did you mean command?'],
  },
  { schema: { additionalProperties: { type: "string" } }, value: { b: 1 }, says: ["b: is 1, expected a string"] },
  // A member that every object inherits is not one of the schema's.
  {
    schema: { properties: {}, additionalProperties: false },
    value: { constructor: 1 },
    says: ['constructor: "constructor" is not known here, allowed are '],
  },
])("$value against $schema says $says", ({ schema, value, says }) => {
  expect(said(schema, value)).toEqual(says);
});

test("any value gets an answer", () => {
  fc.assert(fc.property(fc.anything(), (value) => Array.isArray(checkSchema(MESH_SCHEMA, value))));
});

test("the published schema is the one that is used", () => {
  const published = readFileSync(join(import.meta.dirname, "../../../docs/mesh.schema.json"), "utf8");
  expect(JSON.parse(published)).toEqual(MESH_SCHEMA);
});

test("every member of the schema is described", () => {
  const undescribed: string[] = [];
  const walk = (schema: JsonSchema, path: string) => {
    for (const [name, member] of Object.entries(schema.properties ?? {})) {
      if (member.description === undefined) undescribed.push(`${path}.${name}`);
      walk(member, `${path}.${name}`);
    }
    if (schema.additionalProperties) walk(schema.additionalProperties, `${path}.*`);
  };
  walk(MESH_SCHEMA, "");
  expect(undescribed).toEqual([]);
});
