import { expect, test } from "vitest";
import type { FilterChainMatch, ListenerFilter } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import { inspectorsByPort, inspectorsFor } from "./listener-filters.ts";

const TLS: FilterChainMatch = { transportProtocol: "tls" };
const HTTP: FilterChainMatch = { transportProtocol: "raw_buffer", applicationProtocols: ["http/1.1", "h2c"] };
const PLAIN: FilterChainMatch = { transportProtocol: "raw_buffer" };
const at = (destinationPort: number, match: FilterChainMatch) => ({ ...match, destinationPort });
const shortName = ({ name = "" }: ListenerFilter) => name.replace("envoy.filters.listener.", "");
const range = (port: number) => ({ destinationPortRange: { start: port, end: port + 1 } });

test.each([
  { matches: [{}], filters: [] },
  { matches: [PLAIN], filters: [] },
  { matches: [{ prefixRanges: [{ addressPrefix: "10.0.0.0", prefixLen: 8 }] }], filters: [] },
  { matches: [{ serverNames: ["a.example"] }], filters: ["tls_inspector"] },
  { matches: [HTTP], filters: ["http_inspector"] },
  { matches: [TLS, { ...TLS, applicationProtocols: ["istio-http/1.1"] }], filters: ["tls_inspector"] },
  { matches: [HTTP, TLS], filters: ["tls_inspector", "http_inspector"] },
])("chains that ask for $matches need $filters", ({ matches, filters }) => {
  expect(inspectorsFor(matches).map(shortName)).toEqual(filters);
});

test.each([
  { what: "everywhere", matches: [TLS, PLAIN], disabled: [undefined] },
  { what: "not on a port that needs none", matches: [TLS, at(80, PLAIN)], disabled: [range(80)] },
  {
    what: "not on ports that need none, ascending",
    matches: [TLS, HTTP, at(9000, PLAIN), at(80, PLAIN)],
    disabled: [{ orMatch: { rules: [range(80), range(9000)] } }, { orMatch: { rules: [range(80), range(9000)] } }],
  },
  { what: "where one of a port's chains asks", matches: [TLS, at(80, PLAIN), at(80, TLS)], disabled: [undefined] },
  { what: "nowhere", matches: [PLAIN, at(80, PLAIN)], disabled: [] },
  {
    what: "only where asked, when other ports take TLS as it comes",
    matches: [PLAIN, at(443, TLS), at(80, PLAIN)],
    disabled: [{ notMatch: range(443) }],
  },
])("inspectors are on $what", ({ matches, disabled }) => {
  expect(inspectorsByPort(matches).map(({ filterDisabled }) => filterDisabled)).toEqual(disabled);
});
