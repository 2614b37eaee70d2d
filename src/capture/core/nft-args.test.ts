import { expect, test } from "vitest";
import { buildRules } from "./build-rules.ts";
import { toNft } from "./nft-args.ts";
import { type CaptureSettings, DEFAULT_SETTINGS } from "./settings.ts";

const lines = (given: Partial<CaptureSettings>) =>
  toNft(buildRules({ ...DEFAULT_SETTINGS, ...given })).map(({ words }) => words.join(" "));

test.each([
  { name: "eth0", written: "eth0" },
  { name: "not-istio-nic", written: "not-istio-nic" },
  { name: "tap+", written: "tap*" },
  { name: "0tap+", written: '"0tap*"' },
  { name: "br@3", written: '"br@3"' },
  { name: "bridge", written: '"bridge"' },
  { name: "mark", written: '"mark"' },
  { name: "return", written: '"return"' },
])("interface $name is written $written", ({ name, written }) => {
  expect(lines({ excludeInterfaces: name })).toContain(`iifname ${written} counter return`);
});

test.each([
  { id: "1337", written: "1337" },
  { id: "istio-proxy", written: "istio-proxy" },
  { id: "mark", written: '"mark"' },
  { id: "host$", written: '"host$"' },
])("user $id is written $written", ({ id, written }) => {
  expect(lines({ proxyUid: id })).toContain(`skuid ${written} counter return`);
});
