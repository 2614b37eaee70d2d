import { expect, test } from "vitest";
import { parseAccessLog, passes, RequestSampler } from "./access-log.ts";

const LINE =
  '[2026-11-17T19:10:29.960Z] "GET /a b HTTP/1.1" 503 URX,UF upstream_reset{x} - "why_not" 0 121 92 - "-" "curl/8 (x)" "id-1" "stock:8480" "198.18.41.14:8480" outbound|8480|v2|stock.shop.svc.cluster.local 198.18.41.10:36782 198.19.41.12:8480 198.18.41.10:49554 - default';

test("a line of an access log is read, its flags in words", () => {
  expect(parseAccessLog(LINE, "front")).toEqual({
    at: Date.parse("2026-11-17T19:10:29.960Z"),
    workload: "front",
    direction: "outbound",
    method: "GET",
    path: "/a b",
    protocol: "HTTP/1.1",
    status: 503,
    flags: "URX,UF",
    flagText: "retries were used up; the connection to the endpoint failed",
    details: "upstream_reset{x}",
    durationMs: 92,
    sentBytes: 121,
    receivedBytes: 0,
    host: "stock:8480",
    service: "stock",
    version: "v2",
    upstreamAddress: "198.18.41.14:8480",
    downstreamAddress: "198.18.41.10:49554",
    requestId: "id-1",
  });
});

test.each([
  { behind: '"spiffe://cluster.local/ns/shop/sa/front"', caller: "spiffe://cluster.local/ns/shop/sa/front" },
  { behind: '"-"', caller: undefined },
])("the caller is whom its certificate names: $behind", ({ behind, caller }) => {
  expect(parseAccessLog(`${LINE} ${behind}`, "front")?.caller).toBe(caller);
});

test("other lines of the same log are none", () => {
  expect(parseAccessLog("2026-11-17T19:11:22.305895Z\tinfo\tFLAG: --concurrency=0", "front")).toBeUndefined();
});

test("requests are chosen by direction, service and version", () => {
  const line = parseAccessLog(LINE, "front");
  if (line === undefined) throw new Error("not read");
  expect(passes(line, { direction: "outbound", to: "stock" })).toBe(true);
  expect(passes(line, { direction: "", to: "stock.shop.svc.cluster.local:v2" })).toBe(true);
  expect(passes(line, { direction: "", to: "stock:v1" })).toBe(false);
  expect(passes(line, { direction: "inbound", to: "" })).toBe(false);
});

test("of each second fifty are shown, and the others counted", () => {
  const line = parseAccessLog(LINE, "front");
  if (line === undefined) throw new Error("not read");
  const sampler = new RequestSampler();
  const many = Array.from({ length: 80 }, () => line);
  expect(sampler.take(many, 1000)).toMatchObject({ shown: { length: 50 }, skipped: 30 });
  expect(sampler.take(many, 1500)).toMatchObject({ shown: { length: 0 }, skipped: 80 });
  expect(sampler.take(many, 2000)).toMatchObject({ shown: { length: 50 }, skipped: 30 });
});
