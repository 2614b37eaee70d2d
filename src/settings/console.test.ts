import { expect, test } from "vitest";
import { consoleAddress } from "./console.ts";

test.each([
  ["15700", { host: "127.0.0.1", port: 15_700 }],
  [":15700", { host: "127.0.0.1", port: 15_700 }],
  ["localhost:1", { host: "127.0.0.1", port: 1 }],
  ["0.0.0.0:80", { host: "0.0.0.0", port: 80 }],
  ["[::1]:80", { host: "::1", port: 80 }],
])("%s is an address for a console; without a host it is one of this machine", (text, address) => {
  expect(consoleAddress(text)).toEqual(address);
});

test.each(["", "70000", "host", "a:b:c"])("%j is refused with what is allowed", (text) => {
  expect(() => consoleAddress(text)).toThrow(`--console is ${JSON.stringify(text)}, expected HOST:PORT or a port`);
});
