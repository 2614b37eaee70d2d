import { createSocket } from "node:dgram";
import { once } from "node:events";
import { expect, test } from "vitest";
import { listenError } from "./errors.ts";
import { createUdpSockets } from "./udp-sockets.ts";

const PORT = 1053;
const at = (...hosts: string[]) => hosts.map((host) => ({ host, port: PORT }));

/** Sockets on free ports, with a record of what was opened and closed. */
function setUp(refuse: (host: string) => string | undefined = () => undefined) {
  const events: string[] = [];
  const sockets = createUdpSockets(async (address) => {
    const code = refuse(address.host);
    if (code !== undefined) throw listenError("udp", address.host, Object.assign(new Error(code), { code }));
    const socket = createSocket("udp4");
    socket.bind(0, "127.0.0.1");
    await once(socket, "listening");
    events.push(`+${address.host}`);
    return {
      address,
      stop: async () => {
        events.push(`-${address.host}`);
        await new Promise<void>((closed) => void socket.close(closed));
      },
    };
  });
  return { events, sockets };
}

test("only what changed is opened and closed", async () => {
  const { events, sockets } = setUp();
  expect(await sockets.update(at("a", "b"))).toEqual({ opened: at("a", "b"), closed: [], failures: [] });
  expect(await sockets.update(at("b", "c", "b"))).toEqual({ opened: at("c"), closed: at("a"), failures: [] });
  expect(await sockets.update(at("b", "c"))).toEqual({ opened: [], closed: [], failures: [] });
  expect(sockets.addresses()).toEqual(at("b", "c"));
  await sockets.stop();
  await sockets.stop();
  expect(events).toEqual(["+a", "+b", "-a", "+c", "-b", "-c"]);
  expect(sockets.addresses()).toEqual([]);
});

test("updates that come together take turns, and a stop comes last", async () => {
  const { events, sockets } = setUp();
  await Promise.all([sockets.update(at("a")), sockets.update(at("b")), sockets.update(at("a")), sockets.stop()]);
  expect(events).toEqual(["+a", "-a", "+b", "-b", "+a", "-a"]);
});

test("an address that is not there is tried again, others that cannot be bound are failures; neither holds up the rest", async () => {
  const refused = new Map([
    ["absent", "EADDRNOTAVAIL"],
    ["taken", "EADDRINUSE"],
  ]);
  const { sockets } = setUp((host) => refused.get(host));
  const { opened, failures } = await sockets.update(at("absent", "taken", "free"));
  expect(opened).toEqual(at("free"));
  expect(failures).toMatchObject([{ code: "address-in-use" }]);
  refused.clear();
  expect(await sockets.update(at("absent", "taken", "free"))).toMatchObject({
    opened: at("absent", "taken"),
    failures: [],
  });
  await sockets.stop();
});
