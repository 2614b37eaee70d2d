import { expect, test } from "vitest";
import { yamlPosition } from "./yaml-position.ts";

/** The cursor is at the bar. */
const at = (text: string) => yamlPosition(text.replace("|", ""), text.indexOf("|"));

const RULE = `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata:
  name: reviews
spec:
  hosts:
    - reviews
  http:
    - match:
        - headers:
            end-user: {exact: jason}
      route:
        - destination:
            host: reviews
            subset: v2
          weight: 80
`;
const HEADER = "kind: A\n";

test.each([
  { text: "ki|", path: [], prefix: "ki", at: "key" },
  { text: `${HEADER}spec:\n  |`, path: ["spec"], prefix: "", at: "key" },
  { text: `${HEADER}spec:\n  hosts: [a]\n  ht|`, path: ["spec"], prefix: "ht", at: "key" },
  { text: `${HEADER}spec:\n  http:\n    - ro|`, path: ["spec", "http", "[]"], prefix: "ro", at: "key" },
  { text: `${HEADER}spec:\n  http:\n  - ro|`, path: ["spec", "http", "[]"], prefix: "ro", at: "key" },
  { text: `${HEADER}spec:\n  http:\n    - name: a\n      ti|`, path: ["spec", "http", "[]"], prefix: "ti", at: "key" },
  { text: `${HEADER}spec:\n  tls:\n    mode: IS|`, path: ["spec", "tls"], prefix: "IS", at: "value", key: "mode" },
  {
    text: `${RULE}          |`,
    path: ["spec", "http", "[]", "route", "[]"],
    prefix: "",
    at: "key",
    siblings: ["weight", "destination"],
  },
  { text: `${RULE}      re|`, path: ["spec", "http", "[]"], prefix: "re", at: "key" },
  { text: `${RULE}  ex|`, path: ["spec"], prefix: "ex", at: "key" },
])("the cursor in $text stands at $path", ({ text, ...expected }) => {
  expect(at(text)).toMatchObject(expected);
});

test("the kind is that of the cursor's own document", () => {
  expect(at(`${RULE}---\nkind: Gateway\nspec:\n  |\n---\nkind: Sidecar\n`)).toMatchObject({
    kind: "Gateway",
    path: ["spec"],
  });
});

test("keys that the mapping has already are known, before and after the cursor", () => {
  expect(at("kind: A\n|\nmetadata:\n  name: x\nspec: {}\n").siblings).toEqual(["kind", "metadata", "spec"]);
});
