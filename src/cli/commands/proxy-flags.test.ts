import { describe, expect, test } from "vitest";
import { chooseGeneration } from "../../settings/generations.ts";
import { defaultProxyFlags } from "../../settings/proxy-flags.ts";
import { createFlagValues } from "../framework/flag-values.ts";
import { LOG_FLAGS } from "../framework/log-flags.ts";
import { parseFlags } from "../framework/parse-flags.ts";
import { ignoredFlagWarnings, loggedFlags, PROXY_FLAGS, proxyFlagsOf, toProxyFlags } from "./proxy-flags.ts";

const SPECS = [...PROXY_FLAGS, ...LOG_FLAGS];
const values = (line: string) => {
  const words = line.split(" ").filter((word) => word !== "");
  return createFlagValues(SPECS, parseFlags(SPECS, words, true).set, {});
};
const read = (line: string, generation = "master") =>
  toProxyFlags(values(line), defaultProxyFlags(chooseGeneration(generation)));

test.each([
  "proxy sidecar --domain ns.svc.cluster.local --proxyLogLevel=warning --proxyComponentLogLevel=misc:error --log_output_level=default:info --stsPort=15463 --log_as_json --outlierLogPath=/p",
  "proxy sidecar --domain ns.svc.cluster.local --serviceCluster app.ns --proxyLogLevel=warning --proxyComponentLogLevel=misc:error --trust-domain=cluster.local --concurrency 2",
])("the command line an injector writes is taken whole: %s", (line) => {
  const { args, ignored } = parseFlags(SPECS, line.split(" "), true);
  expect({ args, ignored }).toEqual({ args: ["proxy", "sidecar"], ignored: [] });
});

test.each(["master", "1.20", "1.8", "1.7"])("the help of %s shows the defaults that are used", (generation) => {
  const defaults = defaultProxyFlags(chooseGeneration(generation));
  for (const spec of proxyFlagsOf(defaults)) {
    if (spec.name in defaults) expect([spec.name, spec.default]).toEqual([spec.name, Reflect.get(defaults, spec.name)]);
  }
});

describe("defaults that a generation has for itself", () => {
  test.each([
    { generation: "master", level: "warning", components: "", plugin: "" },
    { generation: "1.20", level: "warning,misc:error", components: "", plugin: "GoogleTokenExchange" },
    { generation: "1.7", level: "warning", components: "misc:error", plugin: "GoogleTokenExchange" },
  ])("of $generation", ({ generation, level, components, plugin }) => {
    expect(read("", generation)).toMatchObject({
      proxyLogLevel: level,
      proxyComponentLogLevel: components,
      tokenManagerPlugin: plugin,
    });
  });

  test("give way to the command line, also to an empty value", () => {
    expect(read("--proxyLogLevel= --proxyComponentLogLevel=a:info", "1.7")).toMatchObject({
      proxyLogLevel: "",
      proxyComponentLogLevel: "a:info",
    });
  });
});

test("a flag that the reference does not have is in the help, and in the log when it is given", () => {
  expect(PROXY_FLAGS.find(({ name }) => name === "console")?.hidden).toBeUndefined();
  const names = (line: string) => loggedFlags(values(line)).map(({ name }) => name);
  expect(names("")).not.toContain("console");
  expect(names("--console 15700")).toEqual(expect.arrayContaining(["console", "domain"]));
  expect(names("--ip 10.0.0.1")).not.toContain("ip");
});

test("what was given is known from what has its default", () => {
  expect([...read("--serviceCluster istio-proxy --concurrency=0").changed].sort()).toEqual([
    "concurrency",
    "serviceCluster",
  ]);
});

test.each([
  { name: "serviceregistry", line: "--serviceregistry=Consul" },
  { name: "ip", line: "--ip 10.0.0.1" },
  { name: "id", line: "--id x" },
  { name: "trust-domain", line: "--trust-domain=td" },
])("--$name is reported as ignored, once, unless the generation knows it", ({ name, line }) => {
  expect(ignoredFlagWarnings(values(line), false)).toEqual([
    `Flag --${name} is ignored: it belongs to an older release and has no effect here`,
  ]);
  expect(ignoredFlagWarnings(values(line), true)).toEqual([]);
});

test.each(["--mixerIdentity=m", "--disableInternalTelemetry"])(
  "%s is ignored in every generation, with the reason",
  (line) => {
    for (const hasRegistryFlags of [true, false]) {
      expect(ignoredFlagWarnings(values(line), hasRegistryFlags)).toEqual([
        expect.stringContaining("there is no Mixer"),
      ]);
    }
  },
);
