import { expect, test } from "vitest";
import { readScrapeTargets, reservedPortReason } from "./scrape-targets.ts";

const STATUS_PORT = 15020;
const at = (port: number, path = "/metrics") => ({ port, path });

test.each([
  { value: undefined, want: [] },
  { value: { scrape: "false", port: "15020" }, want: [] },
  { value: { scrape: "true" }, want: [at(80)] },
  { value: {}, want: [at(80)] },
  { value: { scrape: "no", path: "/x", port: "8080" }, want: [at(8080, "/x")] },
  { value: { port: "08080", path: "x?a=b" }, want: [at(8080, "/x?a=b")] },
  { value: { targets: [{ port: "9100", path: "" }] }, want: [at(9100)] },
  { value: { port: "8080", targets: [{ port: "9100", path: "/custom" }] }, want: [at(9100, "/custom")] },
  { value: { Port: "8080", TARGETS: null }, want: [at(8080)] },
  {
    value: {
      targets: [
        { port: "1", path: "/a" },
        { port: "1", path: "/b" },
      ],
    },
    want: [at(1, "/a"), at(1, "/b")],
  },
])("$value", ({ value, want }) => {
  expect(readScrapeTargets(value, STATUS_PORT)).toEqual(want);
});

const PREFIX = "invalid prometheus scrape configuration: ";
test.each([
  {
    value: { port: "15020" },
    says: `${PREFIX}application port is the same as agent port, which may lead to a recursive loop. Ensure pod does not have prometheus.io/port=15020 label, or that injection is not happening multiple times`,
  },
  {
    value: { targets: [{ port: "15020", path: "/" }] },
    says: `${PREFIX}target port 15020 is the same as agent port, which may lead to a recursive loop`,
  },
  { value: { targets: [{ port: "015020" }] }, says: `${PREFIX}target port 015020 is the same as agent port` },
  {
    value: { port: "015000" },
    says: `${PREFIX}target port 015000 is reserved for Istio (Envoy admin) and cannot be scraped`,
  },
  {
    value: { targets: [{ port: "8080" }, { port: "15006" }] },
    says: "target port 15006 is reserved for Istio (inbound traffic capture)",
  },
  { value: { port: "abc" }, says: `${PREFIX}invalid target port "abc"` },
  { value: { port: "0" }, says: 'invalid target port "0"' },
  { value: { port: "65536" }, says: 'invalid target port "65536"' },
  {
    value: { port: 8080 },
    says: "failed to unmarshal ISTIO_PROMETHEUS_ANNOTATIONS: json: cannot unmarshal number into Go struct field PrometheusScrapeConfiguration.port of type string",
  },
  {
    value: { targets: "8080" },
    says: "cannot unmarshal string into Go struct field PrometheusScrapeConfiguration.targets",
  },
  {
    value: { targets: [{ port: 1 }] },
    says: "cannot unmarshal number into Go struct field ScrapeTarget.port of type string",
  },
  {
    value: { targets: [null] },
    says: "cannot unmarshal null into Go struct field PrometheusScrapeConfiguration.targets",
  },
])("$value is refused", ({ value, says }) => {
  expect(() => readScrapeTargets(value, STATUS_PORT)).toThrow(says);
});

test.each(["15000", "15001", "15004", "15006", "15008", "15020", "15021", "15053", "15090"])(
  "%s is the mesh's own",
  (port) => {
    expect(reservedPortReason(port)).not.toBe("");
    expect(reservedPortReason(port)).toBeDefined();
  },
);

test.each(["80", "8080", "9090", "15002", "15007", "15091", "15099", "", "015020"])("%j is free", (port) => {
  expect(reservedPortReason(port)).toBeUndefined();
});

const OLD = { lists: false, canBeOff: true, reservesPorts: false };

test.each([
  { rules: OLD, value: { port: "15090" }, gives: [15090] },
  { rules: OLD, value: { targets: [{ port: "9100" }] }, gives: [80] },
  { rules: OLD, value: { port: "8080", targets: 7 }, gives: [8080] },
  { rules: OLD, value: { scrape: "false" }, gives: [] },
  { rules: { ...OLD, canBeOff: false }, value: { scrape: "false", port: "8080" }, gives: [8080] },
])("earlier generations read $value as the ports $gives", ({ rules, value, gives }) => {
  expect(readScrapeTargets(value, STATUS_PORT, rules).map(({ port }) => port)).toEqual(gives);
});
