import { describe, expect, test } from "vitest";
import { alternateHosts, proxyScope } from "./alternate-hosts.ts";

test.each([
  { namespace: "ns1", given: "ns1.svc.cluster.local", suffix: ".svc.cluster.local", label: "svc" },
  { namespace: "ns1", given: "svc.cluster.local", suffix: ".svc.cluster.local", label: "svc" },
  { namespace: "svc", given: "svc.cluster.local", suffix: ".cluster.local", label: "cluster" },
  { namespace: "ns1", given: "NS1.Svc.Cluster.LOCAL", suffix: ".svc.cluster.local", label: "svc" },
  { namespace: "", given: "", suffix: "", label: "" },
  { namespace: "ns1", given: "", suffix: "", label: "" },
  { namespace: "ns1", given: "ns1", suffix: "", label: "" },
])(
  "a proxy in '$namespace' with domain '$given' has services that end with '$suffix'",
  ({ namespace, given, suffix, label }) => {
    expect(proxyScope(namespace, given)).toEqual({ namespace, hostSuffix: suffix, firstLabel: label });
  },
);

describe("the names of an entry", () => {
  const scope = proxyScope("ns1", "ns1.svc.cluster.local");
  const service = { ips: ["1.1.1.1"], registry: "Kubernetes", shortname: "a", namespace: "ns1" };
  test.each([
    {
      what: "an external host",
      host: "www.google.com",
      info: { ...service, registry: "External" },
      names: ["www.google.com."],
    },
    { what: "an external host with a dot", host: "x.y.", info: { ...service, registry: "External" }, names: ["x.y."] },
    {
      what: "a service of the proxy's namespace",
      host: "a.ns1.svc.cluster.local",
      info: service,
      names: ["a.ns1.svc.cluster.local.", "a.ns1.", "a.ns1.svc.", "a."],
    },
    {
      what: "a service of another namespace",
      host: "a.ns2.svc.cluster.local",
      info: { ...service, namespace: "ns2" },
      names: ["a.ns2.svc.cluster.local.", "a.ns2.", "a.ns2.svc."],
    },
    {
      what: "a service with a final dot",
      host: "a.ns1.svc.cluster.local.",
      info: service,
      names: ["a.ns1.svc.cluster.local.", "a.ns1.", "a.ns1.svc.", "a."],
    },
    {
      what: "another cluster's service",
      host: "a.ns1.svc.cluster.remote",
      info: service,
      names: ["a.ns1.svc.cluster.remote."],
    },
    {
      what: "a host that only ends alike",
      host: "a.ns1.xsvc.cluster.local",
      info: service,
      names: ["a.ns1.xsvc.cluster.local."],
    },
    {
      what: "a service without short name",
      host: "a.ns1.svc.cluster.local",
      info: { ...service, shortname: "" },
      names: ["a.ns1.svc.cluster.local."],
    },
    {
      what: "a headless pod",
      host: "pod1.h.ns1.svc.cluster.local",
      info: { ...service, shortname: "pod1.h" },
      names: ["pod1.h.ns1.svc.cluster.local.", "pod1.h.ns1.", "pod1.h.ns1.svc.", "pod1.h."],
    },
    {
      what: "a service with other hosts",
      host: "a.ns1.svc.cluster.local",
      info: { ...service, altHosts: ["a.ns1.svc.clusterset.local"] },
      names: ["a.ns1.svc.cluster.local.", "a.ns1.", "a.ns1.svc.", "a.", "a.ns1.svc.clusterset.local."],
    },
  ])("$what: $names", ({ host, info, names }) => {
    expect(alternateHosts(host, info, scope, true)).toEqual(names);
  });

  test("leave out other hosts in the generation that did not know them", () => {
    const info = { ...service, altHosts: ["b.c"] };
    expect(alternateHosts("a.ns1.svc.cluster.local", info, scope, false)).not.toContain("b.c.");
  });

  test("are just the host when the proxy has no domain", () => {
    expect(alternateHosts("a.ns1.svc.cluster.local", service, proxyScope("ns1", ""), true)).toHaveLength(1);
  });
});
