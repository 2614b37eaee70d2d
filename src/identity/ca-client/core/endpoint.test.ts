import { expect, test } from "vitest";
import { MAX_ATTEMPTS, retryDelayMs } from "../sign-over.ts";
import { caEndpoint } from "./endpoint.ts";

test.each([
  {
    address: "istiod.istio-system.svc:15012",
    target: "istiod.istio-system.svc:15012",
    name: "istiod.istio-system.svc",
  },
  { address: "localhost:15012", target: "localhost:15012", name: "istiod.istio-system.svc" },
  { address: "ca.localhost.example:15012", target: "ca.localhost.example:15012", name: "istiod.istio-system.svc" },
  { address: "ca.example", target: "ca.example:443", name: "ca.example" },
  { address: "10.0.0.1:15012", target: "10.0.0.1:15012", name: "10.0.0.1" },
  { address: "[2001:db8::1]:15012", target: "[2001:db8::1]:15012", name: "2001:db8::1" },
  { address: "2001:db8::1", target: "[2001:db8::1]:443", name: "2001:db8::1" },
])("$address is dialled at $target and must be $name", ({ address, target, name }) => {
  expect(caEndpoint(address, "")).toEqual({ target, plaintext: false, serverName: name, authority: name });
});

test("an override is the name for certificate and authority", () => {
  expect(caEndpoint("localhost:1", "x")).toMatchObject({ serverName: "x", authority: "x" });
});

test("port 15010 alone is plaintext and keeps the address as authority", () => {
  expect(caEndpoint("localhost:15010", undefined)).toMatchObject({ plaintext: true, authority: "localhost:15010" });
  expect(caEndpoint("localhost:150100", undefined)).toMatchObject({ plaintext: false });
});

test("waits double from 100 ms, each give or take a tenth, and end after the fifth attempt", () => {
  const waits = (random: number) =>
    [1, 2, 3, 4, 5].map((failures) => retryDelayMs("UNAVAILABLE", failures, () => random));
  expect(MAX_ATTEMPTS).toBe(5);
  expect(waits(0.5)).toEqual([100, 200, 400, 800, undefined]);
  expect(waits(0)).toEqual([90, 180, 360, 720, undefined]);
});

test.each(["CANCELLED", "UNKNOWN", "DEADLINE_EXCEEDED", "UNAUTHENTICATED", "DATA_LOSS", "NOT_FOUND"] as const)(
  "%s is not tried again",
  (code) => {
    expect(retryDelayMs(code, 1, () => 0.5)).toBeUndefined();
  },
);
