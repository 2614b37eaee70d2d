import { expect, test } from "vitest";
import { configuredHost, forwardedHeaders, probeHost } from "./probe-headers.ts";

test("everything goes on but what belongs to the connection; the agent accepts a compressed body only when the kubelet and the probe say nothing", () => {
  const raw = [
    "Host",
    "h",
    "X-A",
    "1",
    "x-a",
    "2",
    "Connection",
    "close",
    "Content-Length",
    "3",
    "Transfer-Encoding",
    "chunked",
  ];
  expect(forwardedHeaders(raw, [])).toEqual({
    list: ["X-A", "1", "x-a", "2", "Accept-Encoding", "gzip"],
    decompresses: true,
  });
  expect(forwardedHeaders(["accept-encoding", "br"], [])).toEqual({
    list: ["accept-encoding", "br"],
    decompresses: false,
  });
});

test("configured headers of old generations come behind the kubelet's; a host among them is the host", () => {
  const configured = [
    { name: "x-a", value: "9" },
    { name: "Host", value: "h" },
  ];
  const { list } = forwardedHeaders(["X-A", "1", "B", "2"], configured);
  expect(list).toEqual(["X-A", "1", "B", "2", "x-a", "9", "Accept-Encoding", "gzip"]);
  expect(configuredHost(configured)).toBe("h");
  expect(configuredHost([...configured, { name: ":authority", value: "a" }])).toBe("a");
  expect(configuredHost([])).toBeUndefined();
});

test.each([
  ["pod:15020", "pod:8080"],
  ["[::1]:15020", "[::1]:8080"],
  ["pod", "pod"],
  ["pod:9", "pod:9"],
  [":15020", ":15020"],
  ["", undefined],
])("Host %s becomes %s", (host, want) => {
  expect(probeHost(["A", "host", "host", host], { statusPort: 15020, probePort: 8080 })).toBe(want);
});
