import { expect, test } from "vitest";
import { buildEnvoyArgs, type EnvoyArgs } from "./command-line.ts";
import { envoyRules } from "./generations.ts";
import { dropUnknownFlags, hasDoubtfulFlags, parseKnownFlags } from "./known-flags.ts";

const build = ({ generation, ...input }: EnvoyArgs & { readonly generation: string }) =>
  buildEnvoyArgs(envoyRules(generation).commandLine, input);

const HELP = `
USAGE:

   envoy  [--stats-tag <string>] ... [--concurrency <uint32_t>] [-c <string>]

Where:

   --stats-tag <string>  (accepted multiple times)
     This flag merges with --mode somewhere
   --disable-hot-restart
     Disable hot restart functionality
   -l <string>,  --log-level <string>
     Log levels: [trace][debug]
   -c <string>,  --config-path <string>
     Path to configuration file
   -h,  --help
     Displays usage information and exits.
`;

test("the flags of a help text are those that head an entry", () => {
  const expected = ["--stats-tag", "--disable-hot-restart", "-l", "--log-level", "-c", "--config-path", "-h", "--help"];
  expect([...parseKnownFlags(HELP)]).toEqual(expected);
});

test("an unknown flag goes together with its value, a switch alone", () => {
  const args = ["-c", "f", "--max-obj-name-len", "189", "--skip-deprecated-logs", "--disable-hot-restart", "-l", "--x"];
  expect(dropUnknownFlags(args, parseKnownFlags(HELP))).toEqual({
    passed: ["-c", "f", "--disable-hot-restart", "-l", "--x"],
    dropped: ["--max-obj-name-len", "--skip-deprecated-logs"],
  });
});

test.each([
  { help: "", of: "a wrapper that prints nothing" },
  { help: "starting envoy with profile edge\n", of: "a wrapper that prints a message" },
  {
    help: "usage: run-envoy\n\n   --profile <name>\n     Which one\n   -h,  --help\n",
    of: "a wrapper with flags of its own",
  },
])("the help of $of says nothing about Envoy's flags", ({ help }) => {
  expect(parseKnownFlags(help).size).toBe(0);
});

test("a binary that tells nothing gets everything", () => {
  expect(dropUnknownFlags(["--a", "b"], new Set())).toEqual({ passed: ["--a", "b"], dropped: [] });
});

const args = { configFile: "f", drainMs: 1000, nodeIps: ["10.0.0.1"], logLevel: "--x", concurrency: 2 };

test.each([
  { generation: "master", isDoubtful: false },
  { generation: "1.20", isDoubtful: false },
  { generation: "1.11", isDoubtful: true },
  { generation: "1.6", isDoubtful: true },
])("whether today's Envoys all know the flags of $generation: $isDoubtful", ({ generation, isDoubtful }) => {
  expect(hasDoubtfulFlags(build({ ...args, generation }))).toBe(isDoubtful);
});

test("a flag of few Envoys is doubtful, the value of another flag is not", () => {
  expect(hasDoubtfulFlags(["-c", "--file-flush-min-size-kb"])).toBe(false);
  expect(hasDoubtfulFlags(["-c", "f", "--file-flush-min-size-kb", "64"])).toBe(true);
});
