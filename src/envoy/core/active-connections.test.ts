import fc from "fast-check";
import { expect, test } from "vitest";
import { countActiveConnections } from "./active-connections.ts";

const OWN = [15021, 15090];
const lines = (stats: Record<string, number>) =>
  Object.entries(stats)
    .map(([name, value]) => `${name}.downstream_cx_active: ${value}\n`)
    .join("");

test.each<{ what: string; stats: string; count: number }>([
  { what: "no answer at all", stats: "", count: -1 },
  { what: "other stats", stats: "http.admin.downstream_cx_active: 7\nhttp.x.downstream_cx_active: 3\n", count: 0 },
  {
    what: "own listeners, admin and internal ones",
    stats: lines({
      "listener.0.0.0.0_15021": 1,
      "listener.0.0.0.0_15090": 4,
      "listener.admin": 2,
      "listener.admin.main_thread": 2,
      "listener.envoy_internal_connect_originate": 5,
      "listener.envoy_internal_inner": 3,
      "listener.0.0.0.0_8443": 0,
    }),
    count: 0,
  },
  {
    what: "traffic among the noise",
    stats: lines({
      "listener.0.0.0.0_8443": 6,
      "listener.0.0.0.0_9093": 8,
      "listener.10.0.0.1_80": 1,
      "listener.10.0.0.2_80": 0,
      "listener.10.0.0.3_80": 1,
      "listener.10.0.0.4_80": 2,
      "listener.10.0.0.5_80": 1,
      "listener.0.0.0.0_8443.worker_0": 6,
      "listener.admin": 2,
    }),
    count: 19,
  },
  { what: "own listeners on IPv6", stats: lines({ "listener.[__]_15021": 1, "listener.[__1]_15090": 1 }), count: 0 },
  { what: "own listeners on loopback", stats: lines({ "listener.127.0.0.1_15090": 3 }), count: 0 },
  { what: "traffic to an own port number elsewhere", stats: lines({ "listener.10.0.0.7_15021": 3 }), count: 3 },
  { what: "traffic on IPv6", stats: lines({ "listener.[2001_db8__1]_8080": 2 }), count: 2 },
  { what: "traffic on IPv6 with colons", stats: "listener.[2001:db8::1]_8080.downstream_cx_active: 2\n", count: 2 },
])("$what counts $count", ({ stats, count }) => {
  expect(countActiveConnections(stats, OWN)).toEqual({ count, warnings: [] });
});

test("lines that cannot be used are named and skipped", () => {
  const stats = "nonsense\n\nlistener.a_1.downstream_cx_active: -1\nlistener.a_2.downstream_cx_active: 4\n";
  expect(countActiveConnections(stats, OWN)).toEqual({
    count: 4,
    warnings: [
      "envoy stat line is missing separator. line:nonsense",
      "envoy stat line is missing separator. line:",
      'failed parsing Envoy stat listener.a_1.downstream_cx_active (error: strconv.ParseUint: parsing "-1": invalid syntax) line: listener.a_1.downstream_cx_active: -1',
    ],
  });
});

test("any text gives a count, never a throw", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(..."listener.:_0[]\n 9-") }), (text) => {
      expect(countActiveConnections(text, OWN).count).toBeGreaterThanOrEqual(-1);
    }),
  );
});
