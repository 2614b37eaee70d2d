import { expect, test } from "vitest";
import { buildEnvoyArgs, type EnvoyArgs, impliesHotRestart } from "./command-line.ts";
import { COMMAND_LINES } from "./command-lines.ts";
import { envoyRules } from "./generations.ts";

const build = ({ generation, ...input }: EnvoyArgs & { readonly generation: string }) =>
  buildEnvoyArgs(envoyRules(generation).commandLine, input);

const input: EnvoyArgs = {
  configFile: "f.json",
  drainMs: 45_900,
  nodeIps: ["10.0.0.1"],
  logLevel: "warning",
  componentLogLevel: "misc:error",
  concurrency: 2,
  serviceCluster: "c",
  serviceNode: "sidecar~1",
  statNameLength: 189,
  availabilityZone: "z",
};
const TAB = "%Y-%m-%dT%T.%fZ\t%l\tenvoy %n\t%v";
const TAB_1_17 = "%Y-%m-%dT%T.%fZ\t%l\tenvoy %n %g:%#\t%v\tthread=%t";
const EPOCH = ["-c", "f.json", "--restart-epoch", "0", "--drain-time-s", "45", "--parent-shutdown-time-s", "60"];
const NODE = ["--service-cluster", "c", "--service-node", "sidecar~1"];
const NAMES = ["--max-obj-name-len", "189"];
const V4 = ["--local-address-ip-version", "v4"];
const EXTRAS = ["-l", "warning", "--component-log-level", "misc:error", "--concurrency", "2"];
const STRATEGY = ["--drain-strategy", "immediate"];
const PARENT = ["--parent-shutdown-time-s", "60"];
const DRAIN = ["-c", "f.json", "--drain-time-s", "45", ...STRATEGY];
const EPOCH_DRAIN = ["-c", "f.json", "--restart-epoch", "0", "--drain-time-s", "45", ...STRATEGY, ...PARENT];
const FLUSH = ["--file-flush-interval-msec", "1000", "--disable-hot-restart"];

test.each<[string, string[]]>([
  ["1.0", [...EPOCH, ...NODE, ...NAMES, "-l", "warning", "--concurrency", "2", "--service-zone", "z"]],
  ["1.1", [...EPOCH, ...NODE, ...NAMES, "--allow-unknown-fields", ...EXTRAS]],
  ["1.2", [...EPOCH, ...NODE, ...NAMES, ...V4, "--allow-unknown-fields", ...EXTRAS]],
  ["1.3", [...EPOCH, ...NODE, ...NAMES, ...V4, "--allow-unknown-fields", ...EXTRAS]],
  [
    "1.4",
    [
      ...EPOCH,
      ...NODE,
      ...NAMES,
      ...V4,
      "--log-format",
      "[Envoy (Epoch 0)] [%Y-%m-%d %T.%e][%t][%l][%n] %v",
      ...EXTRAS,
    ],
  ],
  ["1.6", [...EPOCH, ...NODE, ...NAMES, ...V4, "--log-format", TAB, ...EXTRAS]],
  ["1.7", [...EPOCH, ...NODE, ...V4, "--log-format-prefix-with-location", "0", "--log-format", TAB, ...EXTRAS]],
  [
    "1.8",
    [
      ...EPOCH,
      ...NODE,
      ...V4,
      "--bootstrap-version",
      "3",
      "--log-format-prefix-with-location",
      "0",
      "--log-format",
      TAB,
      ...EXTRAS,
    ],
  ],
  ["1.9", [...EPOCH, ...NODE, ...V4, "--bootstrap-version", "3", "--log-format", TAB, ...EXTRAS]],
  [
    "1.10",
    [
      ...EPOCH_DRAIN,
      ...NODE,
      ...V4,
      "--bootstrap-version",
      "3",
      "--disable-hot-restart",
      "--log-format",
      TAB,
      ...EXTRAS,
    ],
  ],
  ["1.11", [...EPOCH_DRAIN, ...V4, "--bootstrap-version", "3", ...FLUSH, "--log-format", TAB, ...EXTRAS]],
  ["1.14", [...EPOCH_DRAIN, ...V4, ...FLUSH, "--log-format", TAB, ...EXTRAS]],
  ["1.16", [...DRAIN, ...PARENT, ...V4, ...FLUSH, "--log-format", TAB, ...EXTRAS]],
  ["1.20", [...DRAIN, ...V4, ...FLUSH, "--allow-unknown-static-fields", "--log-format", TAB_1_17, ...EXTRAS]],
  ["1.22", [...DRAIN, ...V4, ...FLUSH, "--allow-unknown-static-fields", ...EXTRAS]],
  ["master", [...DRAIN, ...V4, ...FLUSH, "--allow-unknown-static-fields", ...EXTRAS]],
])("generation %s has its own command line", (generation, args) => {
  expect(build({ ...input, generation })).toEqual(args);
});

test("the reference's case: an override and a concurrency come last", () => {
  const args = build({
    generation: "master",
    configFile: "test.json",
    drainMs: 45_000,
    nodeIps: ["10.1.1.1"],
    logLevel: "trace",
    componentLogLevel: "misc:error",
    configYaml: '{"key":"value"}',
    concurrency: 8,
  });
  expect(args.join(" ")).toBe(
    "-c test.json --drain-time-s 45 --drain-strategy immediate --local-address-ip-version v4 --file-flush-interval-msec 1000 " +
      '--disable-hot-restart --allow-unknown-static-fields -l trace --component-log-level misc:error --config-yaml {"key":"value"} --concurrency 8',
  );
});

test("flush settings and switches of the newest generation have their places", () => {
  const args = build({
    ...input,
    generation: "master",
    fileFlushIntervalMs: 10_000,
    fileFlushMinSizeKb: 128,
    skipDeprecatedLogs: true,
    enableCoreDump: true,
  });
  expect(args.slice(6)).toEqual([
    ...V4,
    ...["--file-flush-interval-msec", "10000", "--disable-hot-restart", "--allow-unknown-static-fields"],
    ...["--file-flush-min-size-kb", "128", "-l", "warning", "--component-log-level", "misc:error"],
    ...["--skip-deprecated-logs", "--enable-core-dump", "--concurrency", "2"],
  ]);
});

test.each([
  { nodeIps: [], family: "v6" },
  { nodeIps: ["2001:db8::1"], family: "v6" },
  { nodeIps: ["2001:db8::1", "10.0.0.1"], family: "v4" },
  { nodeIps: ["::ffff:10.0.0.1"], family: "v6" },
])("a node with addresses $nodeIps uses $family", ({ nodeIps, family }) => {
  const args = build({ ...input, generation: "master", nodeIps });
  expect(args[args.indexOf("--local-address-ip-version") + 1]).toBe(family);
});

test.each([
  { concurrency: 0, level: "" },
  { concurrency: -1, level: "" },
])("an empty level and concurrency $concurrency leave their flags out", ({ concurrency, level }) => {
  const args = build({ ...input, generation: "master", concurrency, logLevel: level, componentLogLevel: "" });
  expect(args).toEqual([...DRAIN, ...V4, ...FLUSH, "--allow-unknown-static-fields"]);
});

test.each([
  { generation: "1.20", text: TAB_1_17 },
  { generation: "1.9", text: TAB },
])("JSON logs of generation $generation replace the text format", ({ generation, text }) => {
  const format = (jsonLog: boolean) => {
    const args = build({ ...input, generation, jsonLog });
    return args[args.indexOf("--log-format") + 1];
  };
  expect(format(false)).toBe(text);
  expect(JSON.parse((format(true) ?? "").replace("%t", "1"))).toMatchObject({ level: "%l", time: "%Y-%m-%dT%T.%fZ" });
});

const hotRestart = { epoch: 3, baseId: 77, parentShutdownMs: 61_000 };
const HOT = ["--restart-epoch", "3", "--base-id", "77"];
const HOT_PARENT = ["--parent-shutdown-time-s", "61"];

test("hot restart replaces the switch that turns it off", () => {
  expect(build({ ...input, generation: "master", hotRestart })).toEqual([
    ...DRAIN,
    ...V4,
    ...["--file-flush-interval-msec", "1000", ...HOT, ...HOT_PARENT, "--allow-unknown-static-fields"],
    ...EXTRAS,
  ]);
});

test.each(COMMAND_LINES.map((line) => `1.${line.since}`))(
  "in hot restart mode generation %s gets each flag of it once and never the switch against it",
  (generation) => {
    const args = build({ ...input, generation, hotRestart });
    expect(args).not.toContain("--disable-hot-restart");
    for (const flag of ["--restart-epoch", "--base-id", "--parent-shutdown-time-s", "--drain-time-s"]) {
      expect(args.filter((arg) => arg === flag)).toHaveLength(1);
    }
    expect(args.slice(args.indexOf("--restart-epoch"), args.indexOf("--restart-epoch") + 4)).toEqual(HOT);
    expect(args[args.indexOf("--parent-shutdown-time-s") + 1]).toBe("61");
  },
);

test("the epoch shows in the log format of 1.4", () => {
  expect(build({ ...input, generation: "1.4", hotRestart }).join(" ")).toContain("[Envoy (Epoch 3)]");
});

test.each([
  { generation: "1.9", implied: true },
  { generation: "1.10", implied: false },
  { generation: "master", implied: false },
])("hot restart with generation $generation is implied: $implied", ({ generation, implied }) => {
  expect(impliesHotRestart(envoyRules(generation).commandLine)).toBe(implied);
});

test("a generation that does not exist is a programming error", () => {
  expect(() => build({ ...input, generation: "2" })).toThrow('no Envoy command line for generation "2"');
});
