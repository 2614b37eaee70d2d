import { describe, expect, test } from "vitest";
import {
  hostNamed,
  hostNames,
  httpService,
  scopeOf,
  sidecar,
  virtualService,
} from "../../../test/support/discovery/routes.ts";
import { generateRoute } from "./generate-route.ts";

const WEB = "web.default.svc.cluster.local";
const leadsTo = (host: string) => ({ route: [{ destination: { host } }] });

describe("egress listeners of a Sidecar", () => {
  const b = httpService("b");
  const egress = (...listeners: object[]) => sidecar("s", { egress: listeners });

  test("one with a port has its services and rules only", () => {
    const objects = [
      httpService("web"),
      b,
      virtualService("web", { http: [{ match: [{ uri: { prefix: "/a" } }], ...leadsTo("web") }] }),
      egress(
        { port: { number: 8080, protocol: "HTTP", name: "http" }, hosts: [`./b.default.svc.cluster.local`] },
        { hosts: ["./*"] },
      ),
    ];
    expect(hostNames(generateRoute(scopeOf(objects), "8080"))).toEqual([
      "b.default.svc.cluster.local:8080",
      "allow_any",
    ]);
  });

  test("bound to an address of its own, the address alone means its only service", () => {
    const port = { number: 8080, protocol: "HTTP", name: "http" };
    const objects = [
      httpService("web"),
      b,
      egress(
        { port, bind: "127.0.0.21", captureMode: "NONE", hosts: [`./${WEB}`] },
        { port, bind: "127.0.0.22", captureMode: "NONE", hosts: ["./b.default.svc.cluster.local"] },
      ),
    ];
    const config = generateRoute(scopeOf(objects, { metadata: { INTERCEPTION_MODE: "NONE" } }), "8080");
    expect(hostNamed(config, `${WEB}:8080`).domains).toContain("127.0.0.21");
    expect(hostNamed(config, `${WEB}:8080`).domains).not.toContain("127.0.0.22");
    expect(hostNamed(config, "b.default.svc.cluster.local:8080").domains).toContain("127.0.0.22");
  });

  test("the one without port has its own services there when it is bound elsewhere", () => {
    const port = { number: 8080, protocol: "HTTP", name: "http" };
    const objects = (...binds: string[]) => [
      httpService("web"),
      b,
      egress(
        { port, bind: binds[0], captureMode: "NONE", hosts: [`./${WEB}`] },
        { bind: binds[1], captureMode: "NONE", hosts: ["./*"] },
      ),
    ];
    const metadata = { INTERCEPTION_MODE: "NONE" };
    const names = (...binds: string[]) => hostNames(generateRoute(scopeOf(objects(...binds), { metadata }), "8080"));
    expect(names("127.0.0.21", "127.0.0.1")).toContain("b.default.svc.cluster.local:8080");
    expect(names("127.0.0.21", "127.0.0.21")).not.toContain("b.default.svc.cluster.local:8080");
  });

  test("a port that is said to carry HTTP does, regardless of what the service says", () => {
    const tcp = httpService("web", { ports: [{ number: 8080, name: "tcp", protocol: "TCP" }] });
    const listener = { port: { number: 8080, protocol: "HTTP", name: "http" }, hosts: ["./*"] };
    expect(hostNames(generateRoute(scopeOf([tcp, egress(listener)]), "8080"))).toContain(`${WEB}:8080`);
    expect(hostNames(generateRoute(scopeOf([tcp]), "8080"))).not.toContain(`${WEB}:8080`);
  });

  test("with several services on the port, requests must name theirs", () => {
    const objects = [httpService("web"), b, egress({ bind: "127.0.0.21", captureMode: "NONE", hosts: ["./*"] })];
    const { virtualHosts = [] } = generateRoute(scopeOf(objects, { metadata: { INTERCEPTION_MODE: "NONE" } }), "8080");
    expect(virtualHosts.flatMap(({ domains = [] }) => domains)).not.toContain("127.0.0.21");
  });

  test("on a unix socket, all ports of its services", () => {
    const bind = "unix:///tmp/egress.sock";
    const listener = { port: { number: 0, protocol: "HTTP", name: "uds" }, bind, captureMode: "NONE", hosts: ["./*"] };
    const config = generateRoute(scopeOf([httpService("web"), egress(listener, { hosts: ["~/*"] })]), bind);
    expect(config.name).toBe(bind);
    expect(hostNamed(config, `${WEB}:8080`).domains).toContain("web:8080");
  });
});
