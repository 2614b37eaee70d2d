import { expect, test, vi } from "vitest";
import { recordingLogger } from "../../test/support/dns/fixture.ts";
import type { HostPort } from "../net/host-port.ts";
import { listenError } from "./errors.ts";
import { startWildcardSockets } from "./listeners.ts";

const PORT = 53;
const POLL_MS = 2_000;

/** A machine whose addresses the test changes; "taken" ones cannot be bound. */
async function setUp(addresses: string[], taken: readonly string[] = []) {
  const log = recordingLogger();
  const open = new Set<string>();
  let changes = 0;
  const start = async (address: HostPort) => {
    if (taken.includes(address.host))
      throw listenError("udp", address.host, Object.assign(new Error(), { code: "EADDRINUSE" }));
    open.add(address.host);
    return { address, stop: async () => void open.delete(address.host) };
  };
  const list = vi.fn(() => addresses.map((host) => ({ host, port: PORT })));
  const starting = startWildcardSockets({ list, start, log });
  return { log, open, list, starting, changes: () => changes, onChange: () => void changes++ };
}

test("what changes is followed and reported, what stays is not touched", async () => {
  vi.useFakeTimers();
  try {
    const addresses = ["10.0.0.1", "10.0.0.2"];
    const t = await setUp(addresses);
    const sockets = await t.starting;
    sockets.follow(POLL_MS, t.onChange);
    await vi.advanceTimersByTimeAsync(POLL_MS);
    expect(t.changes()).toBe(0);
    addresses.splice(0, 1, "fd00::1");
    await vi.advanceTimersByTimeAsync(POLL_MS);
    expect(t.changes()).toBe(1);
    expect(sockets.addresses()).toEqual([
      { host: "10.0.0.2", port: PORT },
      { host: "fd00::1", port: PORT },
    ]);
    expect(t.log.lines.map(({ message }) => message)).toEqual([
      "Starting local udp DNS server on [fd00::1]:53",
      "Local udp DNS server on 10.0.0.1:53 ended: the address is gone",
    ]);
    await sockets.stop();
    expect(t.open.size).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

test("an address that is taken at the start fails it and leaves nothing open; later it is one line a minute", async () => {
  vi.useFakeTimers();
  try {
    const first = await setUp(["10.0.0.1", "10.0.0.2"], ["10.0.0.2"]);
    await expect(first.starting).rejects.toMatchObject({ code: "address-in-use" });
    expect(first.open.size).toBe(0);

    const addresses = ["10.0.0.1"];
    const later = await setUp(addresses, ["10.0.0.2"]);
    const sockets = await later.starting;
    sockets.follow(POLL_MS, later.onChange);
    addresses.push("10.0.0.2");
    await vi.advanceTimersByTimeAsync(POLL_MS * 20);
    expect(later.log.lines).toMatchObject([
      {
        level: "warn",
        message: expect.stringContaining("not served: listen udp 10.0.0.2: bind: address already in use"),
      },
    ]);
    await sockets.stop();
  } finally {
    vi.useRealTimers();
  }
});

test("a machine that does not tell its addresses for a moment keeps its sockets", async () => {
  vi.useFakeTimers();
  try {
    const t = await setUp(["10.0.0.1"]);
    const sockets = await t.starting;
    sockets.follow(POLL_MS, t.onChange);
    t.list.mockImplementationOnce(() => {
      throw new Error("uv_interface_addresses returned ENOMEM");
    });
    await vi.advanceTimersByTimeAsync(POLL_MS * 2);
    expect(sockets.addresses()).toHaveLength(1);
    expect(t.log.lines).toMatchObject([{ level: "warn", message: expect.stringContaining("ENOMEM") }]);
    await sockets.stop();
  } finally {
    vi.useRealTimers();
  }
});
