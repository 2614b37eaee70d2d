import { describe, expect, test } from "vitest";
import { decideKnown } from "./decide.ts";
import { DNS_RULES } from "./generations.ts";

const [A, CNAME, MX, AAAA, SVCB, HTTPS, ANY] = [1, 5, 15, 28, 64, 65, 255];
const entry = (isKubernetes: boolean) => ({
  host: "h",
  ownName: "h.",
  isKubernetes,
  start: 0,
  ipv4Count: 1,
  ipv6Count: 0,
});
const service = { entry: entry(true) };
const external = { entry: entry(false) };
const aliased = { entry: entry(false), target: "h." };
const master = DNS_RULES.master;

describe("a known name asked for", () => {
  test.each([
    { what: "A", match: external, type: A, decision: { rcode: 0, ipv4: true, ipv6: false, name: undefined } },
    { what: "AAAA without one", match: external, type: AAAA, decision: { rcode: 0, entry: undefined } },
    {
      what: "A through an alias",
      match: aliased,
      type: A,
      decision: { ipv4: true, name: { type: CNAME, target: "h." } },
    },
    {
      what: "AAAA through an alias to nothing",
      match: aliased,
      type: AAAA,
      decision: { entry: undefined, name: undefined },
    },
    { what: "ANY", match: service, type: ANY, decision: { ipv4: true, ipv6: true } },
    {
      what: "CNAME of an alias",
      match: aliased,
      type: CNAME,
      decision: { entry: undefined, name: { type: CNAME, target: "h." } },
    },
    { what: "MX of an alias", match: aliased, type: MX, decision: { rcode: 0, entry: undefined, name: undefined } },
    { what: "MX of a service", match: service, type: MX, decision: { rcode: 0, entry: undefined } },
    { what: "HTTPS of an external host", match: external, type: HTTPS, decision: { rcode: 0, entry: undefined } },
    { what: "SVCB of an external host", match: external, type: SVCB, decision: { rcode: 0, entry: undefined } },
  ])("$what is answered here", ({ match, type, decision }) => {
    expect(decideKnown(match, type, master, false)).toMatchObject(decision);
  });

  test("MX of an external host may exist elsewhere", () => {
    expect(decideKnown(external, MX, master, false)).toBe("forward-known");
  });

  test.each([CNAME, MX, HTTPS, ANY])("type %i goes upstream when that is wanted", (type) => {
    expect(decideKnown(service, type, master, true)).toBe("forward");
  });

  test("the wrong family does not exist in the generation that said so", () => {
    expect(decideKnown(service, AAAA, DNS_RULES["1.8"], false)).toMatchObject({ rcode: 3, entry: undefined });
    expect(decideKnown(service, AAAA, DNS_RULES["1.20"], false)).toMatchObject({ rcode: 0, entry: undefined });
  });
});
