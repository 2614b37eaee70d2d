import { expect, test } from "vitest";
import { localEndpoint } from "./inbound-clusters.ts";

const node = { addresses: ["10.0.0.1", "2001:db8::1"], ipv4: true, ipv6: true };

test.each([
  { text: "127.0.0.1:80", gives: { address: "127.0.0.1", port: 80, isLoopback: true } },
  { text: "[::1]:80", gives: { address: "::1", port: 80, isLoopback: true } },
  { text: "0.0.0.0:80", gives: { address: "10.0.0.1", port: 80, isLoopback: false } },
  { text: "[::]:80", gives: { address: "2001:db8::1", port: 80, isLoopback: false } },
  { text: "unix:///run/a.sock", gives: { address: "unix:///run/a.sock", port: 0, isLoopback: false } },
  { text: "10.1.1.1:80", gives: undefined },
  { text: "127.0.0.1", gives: undefined },
  { text: "127.0.0.1:0", gives: undefined },
  { text: "127.0.0.1:70000", gives: undefined },
  { text: "", gives: undefined },
])("$text leads to $gives", ({ text, gives }) => {
  expect(localEndpoint(text, node)).toEqual(gives);
});

test("a workload of one address family is reached by the address it has", () => {
  const ipv4 = { addresses: ["10.0.0.1"], ipv4: true, ipv6: false };
  const ipv6 = { addresses: ["2001:db8::1"], ipv4: false, ipv6: true };
  expect(localEndpoint("[::]:80", ipv4)?.address).toBe("10.0.0.1");
  expect(localEndpoint("[::1]:80", ipv4)?.address).toBe("127.0.0.1");
  expect(localEndpoint("127.0.0.1:80", ipv6)?.address).toBe("::1");
});
