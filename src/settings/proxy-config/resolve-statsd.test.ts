import { expect, test } from "vitest";
import { recordLog } from "../../../test/support/log/recording-log.ts";
import { resolveStatsd, systemLookup } from "./resolve-statsd.ts";

const failure = (reason: string) => [`warn resolve StatsdUdpAddress failed: ${reason}`];

test.each([
  { address: "stats:9080", answers: ["2001:db8::68", "1.2.3.4", "1.2.3.5"], gives: "1.2.3.4:9080" },
  { address: "stats:9080", answers: ["2001:db8::1", "2001:db8::2"], gives: "[2001:db8::2]:9080" },
])("$answers -> $gives", async ({ address, answers, gives }) => {
  const log = recordLog();
  const lines = log.printed;
  expect(await resolveStatsd(address, async () => answers, log)).toBe(gives);
  expect(lines).toEqual([
    "info Attempting to lookup address: stats",
    `info Addr resolved to: ${gives}`,
    "info Finished lookup of address: stats",
  ]);
});

test.each([
  { address: "", gives: "", lines: [] },
  { address: "localhost:", gives: "", lines: [] },
  { address: "localhost", gives: "", lines: failure("address localhost: missing port in address") },
  { address: "2001:db8::20:9080", gives: "", lines: failure("address 2001:db8::20:9080: too many colons in address") },
  { address: "127.0.0.1:99999", gives: "", lines: failure("address 127.0.0.1:99999: invalid port") },
  { address: "127.0.0.1:-1", gives: "", lines: failure("address 127.0.0.1:-1: invalid port") },
  { address: "localhost:http", gives: "", lines: failure("address localhost:http: invalid port") },
])("$address needs no lookup", async ({ address, gives, lines }) => {
  const log = recordLog();
  const refuse = () => Promise.reject(new Error("looked up"));
  expect(await resolveStatsd(address, refuse, log)).toBe(gives);
  expect(log.printed).toEqual(lines);
});

test.each([
  { address: "127.0.0.1:9080", gives: "127.0.0.1:9080" },
  { address: "[::1]:9080", gives: "[::1]:9080" },
  { address: "localhost:9080", gives: "127.0.0.1:9080" },
])("the system resolves $address to $gives", async ({ address, gives }) => {
  expect(await resolveStatsd(address, systemLookup, recordLog())).toBe(gives);
});

test("a host that does not exist warns and clears the address", async () => {
  const log = recordLog();
  const lines = log.printed;
  const missing = () => Promise.reject(Object.assign(new Error("getaddrinfo ENOTFOUND"), { code: "ENOTFOUND" }));
  expect(await resolveStatsd("127.0.0.1.1:9080", missing, log)).toBe("");
  expect(lines).toEqual([
    "info Attempting to lookup address: 127.0.0.1.1",
    "warn resolve StatsdUdpAddress failed: lookup failed for IP address: lookup 127.0.0.1.1: no such host",
    "info Finished lookup of address: 127.0.0.1.1",
  ]);
});

test("a resolver that never answers is given up on", async () => {
  const log = recordLog();
  const lines = log.printed;
  expect(await resolveStatsd("slow:1", () => new Promise(() => undefined), log, { limitMs: 5 })).toBe("");
  expect(lines[1]).toBe("warn resolve StatsdUdpAddress failed: lookup failed for IP address: lookup slow: i/o timeout");
});

test.each([
  { when: "before", stop: AbortSignal.abort() },
  { when: "while", stop: undefined },
])("an abort $when it looks ends the wait for a silent resolver", async ({ stop }) => {
  const log = recordLog();
  const lines = log.printed;
  const controller = new AbortController();
  const silent = () => new Promise<never>(() => undefined);
  const resolved = resolveStatsd("slow:1", silent, log, { signal: stop ?? controller.signal });
  controller.abort();
  expect(await resolved).toBe("");
  expect(lines[1]).toMatch(/lookup slow: operation was canceled$/);
});
