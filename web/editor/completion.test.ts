import { expect, test } from "vitest";
import type { JsonSchema } from "../../src/console/api.ts";
import { complete } from "./completion.ts";

const schema: JsonSchema = {
  type: "object",
  properties: {
    kind: { type: "string" },
    spec: {
      type: "object",
      properties: {
        hosts: { type: "array", items: { type: "string" } },
        http: {
          type: "array",
          items: {
            type: "object",
            properties: {
              timeout: { type: "string", description: "After which a request fails." },
              mirror: { type: "object" },
            },
          },
        },
        mode: { enum: ["STRICT", "PERMISSIVE"] },
      },
    },
  },
};
const sources = {
  kinds: [
    { kind: "VirtualService", apiVersion: "networking.istio.io/v1" },
    { kind: "Sidecar", apiVersion: "networking.istio.io/v1" },
  ],
  schemaOf: (kind: string) => (kind === "VirtualService" ? schema : undefined),
};
const at = (text: string) => complete(text.replace("|", ""), text.indexOf("|"), sources);
const labels = (text: string) => at(text)?.suggestions.map((suggestion) => suggestion.label);

test("kinds are completed as a value", () => {
  expect(labels("kind: V|")).toEqual(["VirtualService"]);
  expect(labels("apiVersion: |")).toEqual(["networking.istio.io/v1"]);
});

test("keys come from the schema of the document's kind, without those that are there", () => {
  expect(labels("kind: VirtualService\nspec:\n  hosts: [a]\n  |")).toEqual(["http", "mode"]);
  expect(at("kind: VirtualService\nspec:\n  http:\n    - ti|")).toMatchObject({
    suggestions: [{ label: "timeout", insert: "timeout: ", description: "After which a request fails." }],
  });
});

test("values of a closed list are completed", () => {
  expect(labels("kind: VirtualService\nspec:\n  mode: S|")).toEqual(["STRICT"]);
});

test("what is complete, and what the schema does not know, has no suggestions", () => {
  expect(at("kind: VirtualService\nspec:\n  mode|")).toBeUndefined();
  expect(at("kind: Unknown\nspec:\n  ho|")).toBeUndefined();
});
