import { expect, test } from "vitest";
import { loopbackOf } from "./ip-family.ts";

test.each([
  { nodeIps: [], host: "127.0.0.1" },
  { nodeIps: ["10.0.0.1"], host: "127.0.0.1" },
  { nodeIps: ["2001:db8::1", "10.0.0.1"], host: "127.0.0.1" },
  { nodeIps: ["2001:db8::1", "2001:db8::2"], host: "::1" },
])("the admin of a node with $nodeIps is on $host", ({ nodeIps, host }) => {
  expect(loopbackOf(nodeIps)).toBe(host);
});
