import { expect, test } from "vitest";
import { envoyRules } from "./generations.ts";

test.each([
  { generation: "1.6", line: "Agent draining Proxy", isGraceful: false, isAlwaysInboundOnly: true, tolerated: 0 },
  { generation: "1.7", line: "Agent draining Proxy", isGraceful: false, isAlwaysInboundOnly: false, tolerated: 0 },
  { generation: "1.8", line: "Agent draining Proxy", isGraceful: true, isAlwaysInboundOnly: false, tolerated: 0 },
  { generation: "1.20", line: "Agent draining Proxy", isGraceful: true, isAlwaysInboundOnly: false, tolerated: 0 },
  {
    generation: "master",
    line: "Agent draining Proxy for termination",
    isGraceful: true,
    isAlwaysInboundOnly: false,
    tolerated: 4,
  },
])("generation $generation terminates by its rules", ({ generation, line, tolerated, ...flags }) => {
  expect(envoyRules(generation).termination).toMatchObject({
    announcement: line,
    toleratedStatsErrors: tolerated,
    ...flags,
  });
});

test("a generation that does not exist is a programming error", () => {
  expect(() => envoyRules("two").termination).toThrow('no Envoy command line for generation "two"');
});
