import { expect, test } from "vitest";
import { buildContext, compareListeners, compareRoutes } from "./index.ts";
import type { Json } from "./json.ts";

const known = buildContext(
  "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: a, namespace: ns}\nspec: {hosts: [a.example]}\n",
);
const config = (name: string, hosts: readonly string[], more: Json = {}): Json => ({
  name,
  virtualHosts: hosts.map((host) => ({ name: host, domains: [host] })),
  ...more,
});

test.each([
  { host: "ghost.example:8080", accepted: true },
  { host: "a.example:8080", accepted: false },
])("a further virtual host $host is accepted: $accepted", ({ host, accepted }) => {
  const found = compareRoutes([config("8080", [])], [config("8080", [host])], known);
  expect(found.length === 0).toBe(accepted);
});

test.each([
  { domain: "127.0.0.21", accepted: true },
  { domain: "[::1]", accepted: true },
  { domain: "10.0.0.1", accepted: false },
])("$domain as a further name of a service is accepted: $accepted", ({ domain, accepted }) => {
  const host = (...domains: readonly string[]): Json => ({
    name: "80",
    virtualHosts: [{ name: "a.example:80", domains }],
  });
  expect(compareRoutes([host("a.example")], [host("a.example", domain)], known).length === 0).toBe(accepted);
  expect(compareRoutes([host("a.example", domain)], [host("a.example")], known)).toHaveLength(1);
});

test("a virtual host of the reference that is missing is never accepted, whoever knows it", () => {
  expect(compareRoutes([config("80", ["ghost.example:80"])], [config("80", [])], known)).toHaveLength(1);
});

test.each([
  { name: "http_proxy", accepted: true },
  { name: "unix:///tmp/x", accepted: true },
  { name: "8080", accepted: false },
])("counting the port of a request's host in $name is accepted: $accepted", ({ name, accepted }) => {
  const golden = config(name, [], { ignorePortInHostMatching: true });
  expect(compareRoutes([golden], [config(name, [])], known).length === 0).toBe(accepted);
});

test.each([
  { retryOn: "retriable-status-codes", accepted: true },
  { retryOn: "5xx,retriable-status-codes", accepted: false },
])("retrying on $retryOn without the reference's first comma is accepted: $accepted", ({ retryOn, accepted }) => {
  const routes = (text: string): Json => ({
    name: "80",
    virtualHosts: [{ name: "a", domains: ["a"], routes: [{ route: { retryPolicy: { retryOn: text } } }] }],
  });
  expect(compareRoutes([routes(",retriable-status-codes")], [routes(retryOn)]).length === 0).toBe(accepted);
});

test.each([
  { name: "virtualInbound", accepted: true },
  { name: "0.0.0.0_80", accepted: false },
])("one more address of $name is accepted: $accepted", ({ name, accepted }) => {
  const additionalAddresses = [{ address: { socketAddress: { address: "::", portValue: 80 } } }];
  expect(compareListeners([{ name }], [{ name, additionalAddresses }]).length === 0).toBe(accepted);
  expect(compareListeners([{ name, additionalAddresses }], [{ name }])).toHaveLength(1);
});
