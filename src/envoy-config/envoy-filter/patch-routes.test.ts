import { describe, expect, test } from "vitest";
import {
  type generatePatched,
  HOST,
  type Match,
  OUTBOUND,
  patch,
  patched,
} from "../../../test/support/mesh-model/patched-mesh.ts";

describe("routes", () => {
  const OUT = { context: "SIDECAR_OUTBOUND" };
  const within = (route?: Match) => ({
    ...OUT,
    routeConfiguration: { vhost: { name: `${HOST}:80`, ...(route && { route }) } },
  });
  const NEW = { name: "new", match: { prefix: "/n" }, direct_response: { status: 200 } };
  const names = (made: ReturnType<typeof generatePatched>) => made.routes.map(({ name }) => name);

  test.each<{ operation: string; route?: Match; gives: string[] }>([
    { operation: "ADD", gives: ["old", "main", "new"] },
    { operation: "INSERT_FIRST", gives: ["new", "old", "main"] },
    { operation: "INSERT_FIRST", route: { name: "main" }, gives: ["new", "old", "main"] },
    { operation: "INSERT_FIRST", route: { name: "nobody" }, gives: ["old", "main"] },
    { operation: "INSERT_BEFORE", route: { action: "ROUTE" }, gives: ["old", "new", "main"] },
    { operation: "INSERT_AFTER", route: { action: "REDIRECT" }, gives: ["old", "new", "main"] },
    { operation: "INSERT_AFTER", gives: ["old", "main", "new"] },
    { operation: "REMOVE", route: { name: "old" }, gives: ["main"] },
    { operation: "REMOVE", route: { action: "DIRECT_RESPONSE" }, gives: ["old", "main"] },
  ])("$operation at $route", ({ operation, route, gives }) => {
    expect(names(patched(patch("HTTP_ROUTE", operation, within(route), NEW)))).toEqual(gives);
  });

  test("a merged route keeps what the patch does not name", () => {
    const { routes } = patched(patch("HTTP_ROUTE", "MERGE", within({ name: "main" }), { route: { timeout: "4s" } }));
    expect(routes[1]).toMatchObject({ name: "main", route: { cluster: OUTBOUND, timeout: "4s" } });
  });

  test("virtual hosts are merged, replaced, removed and added, and never have a domain twice", () => {
    const host = (name: string, domain: string) => ({ name, domains: [domain], routes: [NEW] });
    const { hosts, problems } = patched(
      patch("VIRTUAL_HOST", "MERGE", within(), { request_headers_to_remove: ["x"] }),
      patch("VIRTUAL_HOST", "REMOVE", { routeConfiguration: { vhost: { name: "allow_any" } } }),
      patch("VIRTUAL_HOST", "ADD", { ...OUT, routeConfiguration: { portNumber: 80 } }, host("a", "a.b")),
      patch("VIRTUAL_HOST", "ADD", { ...OUT, routeConfiguration: { portNumber: 81 } }, host("b", "b.b")),
      patch("VIRTUAL_HOST", "ADD", OUT, host("c", HOST)),
      patch("VIRTUAL_HOST", "ADD", OUT, host("a", "c.c")),
    );
    expect(hosts.map(({ name }) => name)).toEqual([`${HOST}:80`, "a"]);
    expect(hosts[0]?.requestHeadersToRemove).toEqual(["x"]);
    expect(problems).toEqual([
      expect.stringContaining(`another virtual host has the domain ${HOST}`),
      expect.stringContaining("there is a virtual host a already"),
    ]);
    const replaced = patched(
      patch(
        "VIRTUAL_HOST",
        "REPLACE",
        { ...OUT, routeConfiguration: { vhost: { domainName: HOST } } },
        host("r", "r.r"),
      ),
    );
    expect(replaced.hosts.map(({ name }) => name)).toEqual(["r", "allow_any"]);
  });

  test.each([
    { value: { domains: ["*"] }, says: "another virtual host has the domain *" },
    { value: { name: "allow_any" }, says: "there is a virtual host allow_any already" },
  ])("a merge that gives a host what another has is refused: $says", ({ value, says }) => {
    const { hosts, problems } = patched(patch("VIRTUAL_HOST", "MERGE", within(), value));
    expect(hosts.map(({ name }) => name)).toEqual([`${HOST}:80`, "allow_any"]);
    expect(hosts[0]?.domains).not.toContain("*");
    expect(problems).toEqual([expect.stringContaining(says)]);
  });

  test("of several hosts that a merge would give one name the first gets it", () => {
    const { hosts, problems } = patched(patch("VIRTUAL_HOST", "MERGE", OUT, { name: "same" }));
    expect(hosts.map(({ name }) => name)).toEqual(["same", "allow_any"]);
    expect(problems).toEqual([expect.stringContaining("there is a virtual host same already")]);
  });

  test("configurations are merged, also those that come with the listener", () => {
    const value = { request_headers_to_remove: ["x"] };
    const { route, listener } = patched(
      patch("ROUTE_CONFIGURATION", "MERGE", { routeConfiguration: { portNumber: 80 } }, value),
    );
    expect(route).toMatchObject({ requestHeadersToRemove: ["x"] });
    const own = listener("virtualInbound")?.filterChains?.find(({ name }) => name === "0.0.0.0_80");
    expect(own?.filters?.at(-1)?.typedConfig).toMatchObject({ routeConfig: { requestHeadersToRemove: ["x"] } });
  });
});
