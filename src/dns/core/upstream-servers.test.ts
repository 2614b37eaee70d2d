import { expect, test } from "vitest";
import { withoutOwnAddresses } from "../start-dns-server.ts";

test.each([
  { servers: ["127.0.0.1", "10.0.0.10"], own: "127.0.0.1", port: 53, left: ["10.0.0.10"] },
  { servers: ["127.0.0.1"], own: "127.0.0.1", port: 15053, left: ["127.0.0.1"] },
  { servers: ["0:0:0:0:0:0:0:1", "::2"], own: "::1", port: 53, left: ["::2"] },
  { servers: ["127.0.0.53", "::1", "10.0.0.10"], own: "0.0.0.0", port: 53, left: ["10.0.0.10"] },
  { servers: ["127.0.0.1", "10.0.0.10"], own: "", port: 53, left: ["10.0.0.10"] },
  { servers: ["0.0.0.0", "10.0.0.10"], own: "127.0.0.1", port: 53, left: ["10.0.0.10"] },
  { servers: ["0.0.0.0"], own: "10.1.1.1", port: 53, left: ["0.0.0.0"] },
  { servers: ["localhost"], own: "127.0.0.1", port: 53, left: ["localhost"] },
])("a proxy on $own:$port that is given $servers asks $left", ({ servers, own, port, left }) => {
  expect(withoutOwnAddresses(servers, 53, [{ host: own, port }])).toEqual(left);
});
