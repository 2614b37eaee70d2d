import fc from "fast-check";
import { expect, test } from "vitest";
import { parseHotRestartSockets, pickBaseId } from "../hot-restart-memory.ts";

test("every hash gives an id that Envoy can multiply by ten within 32 bits, and never the default 0", () => {
  fc.assert(
    fc.property(fc.nat(0xffff_ffff), fc.nat(999), (hash, taken) => {
      const first = pickBaseId(hash, () => false);
      const id = pickBaseId(hash, (candidate) => candidate < first + taken);
      expect(id).toBe(first + taken);
      expect(id).toBeGreaterThan(0);
      expect(id * 10 + 2).toBeLessThanOrEqual(0xffff_ffff);
    }),
  );
});

test("open sockets of running Envoys are read from the kernel's list", () => {
  const text = `Num       RefCount Protocol Flags    Type St Inode Path
0000000052bdd654: 00000002 00000000 00000000 0002 01 17226 @envoy_domain_socket_child_770@@@@
00000000a358737c: 00000002 00000000 00000000 0002 01 17229 @envoy_domain_socket_udp_parent_771@@@
0000000079edd4a2: 00000002 00000000 00000000 0001 01 17228 /run/dbus/socket
`;
  expect([...parseHotRestartSockets(text)]).toEqual([770, 771]);
});
