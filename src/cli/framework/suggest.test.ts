import { expect, test } from "vitest";
import { suggest } from "./run-cli.ts";

const NAMES = ["istio-iptables", "istio-clean-iptables", "proxy", "request", "version", "wait"];

test.each([
  { typed: "prox", names: ["proxy"] },
  { typed: "PROXI", names: ["proxy"] },
  { typed: "verison", names: ["version"] },
  { typed: "istio", names: ["istio-iptables", "istio-clean-iptables"] },
  { typed: "wat", names: ["wait"] },
  { typed: "foo", names: [] },
  { typed: "requestsss", names: [] },
])("$typed is close to $names", ({ typed, names }) => {
  expect(suggest(typed, NAMES)).toEqual(names);
});
