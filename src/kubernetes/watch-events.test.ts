import { Readable } from "node:stream";
import { expect, test } from "vitest";
import type { ResponseBody } from "../net/http2/open-http2-session.ts";
import { readWatch } from "./watch-events.ts";

async function objectsOf(line: string): Promise<readonly unknown[]> {
  const objects: unknown[] = [];
  const body = Readable.from([Buffer.from(line)]) as unknown as ResponseBody;
  for await (const event of readWatch(body, "watch things", new AbortController().signal))
    objects.push(event.type === "ADDED" ? event.object : event);
  return objects;
}

const SET = { manager: "kubectl", operation: "Update", fieldsV1: { "f:spec": { "f:env": { ".": {}, "f:x": {} } } } };

test.each([
  { what: "one manager", managedFields: [SET] },
  { what: "several managers", managedFields: [SET, { ...SET, subresource: "status" }] },
])("what $what wrote is left out of an object, and the rest is whole", async ({ managedFields }) => {
  const metadata = { name: "a", resourceVersion: "7", labels: { app: "a" } };
  const rest = { spec: { list: [{ x: [{}] }] }, status: { phase: "Running" } };
  const object = { kind: "Pod", metadata: { ...metadata, managedFields }, ...rest };
  expect(await objectsOf(`${JSON.stringify({ type: "ADDED", object })}\n`)).toEqual([
    { kind: "Pod", metadata, ...rest },
  ]);
});

test("members of a custom object come in the order of the alphabet", async () => {
  const [before, after] = [{ labels: { app: "a" } }, { name: "a", resourceVersion: "7" }];
  const spec = { servers: [{ hosts: ["*"] }], managedFields: [{ x: 1 }] };
  const object = { metadata: { ...before, managedFields: [SET], ...after }, spec };
  const expected = { metadata: { ...before, ...after }, spec };
  expect(await objectsOf(`${JSON.stringify({ type: "ADDED", object })}\n`)).toEqual([expected]);
  const unmanaged = { metadata: { ...before, ...after }, spec: { a: 1, managedFields: [{ x: 1 }] } };
  expect(await objectsOf(`${JSON.stringify({ type: "ADDED", object: unmanaged })}\n`)).toEqual([unmanaged]);
});

test.each(["a],", "a]", "],:", '}]},"spec":{"forged":true}}}', '}]},\\"spec\\":{', "}]}", '"}]}"'])(
  "a manager called %s changes nothing but that its object is read whole",
  async (manager) => {
    const metadata = { name: "a", resourceVersion: "7", managedFields: [{ ...SET, manager }, SET] };
    const object = { metadata, spec: { x: 1 } };
    expect(await objectsOf(`${JSON.stringify({ type: "ADDED", object })}\n`)).toEqual([object]);
  },
);

test("a text that looks like the list of managers is left alone", async () => {
  const text = ',"managedFields":[{"x":1}]}';
  const object = { metadata: { name: "a", resourceVersion: "7" }, data: { text } };
  expect(await objectsOf(`${JSON.stringify({ type: "ADDED", object })}\n`)).toEqual([object]);
});
