import { expect, test } from "vitest";
import { flagUsages, helpText } from "./help-text.ts";

test("flags are sorted, in one column, with their type and any default that is not empty", () => {
  expect(
    flagUsages([
      { name: "url", type: "string", default: "http://x", usage: "URL to ask" },
      { name: "short", short: "s", type: "bool", default: false, usage: "Short" },
      { name: "profiling", type: "bool", default: true, usage: "Profile" },
      { name: "port", type: "int32", default: 15000, usage: "Port\nof two lines" },
      { name: "zero", type: "int", default: 0, usage: "Zero" },
      { name: "limit", type: "duration", default: 5_000_000_000n, usage: "Limit" },
      { name: "target", type: "stringArray", default: ["stdout"], usage: "Targets" },
      { name: "secret", type: "string", default: "", usage: "", hidden: true },
    ]),
  ).toBe(
    [
      "      --limit duration       Limit (default 5s)",
      "      --port int32           Port",
      "                             of two lines (default 15000)",
      "      --profiling            Profile (default true)",
      "  -s, --short                Short",
      "      --target stringArray   Targets (default [stdout])",
      '      --url string           URL to ask (default "http://x")',
      "      --zero int             Zero",
    ].join("\n"),
  );
});

test("a parent lists its visible commands and can be run by itself only when it does something", () => {
  const command = {
    use: "envoy",
    short: "About Envoy",
    flags: [{ name: "help", type: "bool", default: false, usage: "help" }],
  } as const;
  const subcommands = [
    { name: "path", short: "Where it is" },
    { name: "fetch", short: "Gets it" },
    { name: "inner", short: "", hidden: true },
  ];
  expect(helpText({ command, path: "pilot-agent envoy", subcommands, globalFlags: [] })).toBe(
    [
      "About Envoy\n\nUsage:\n  pilot-agent envoy [command]\n\nAvailable Commands:",
      "  fetch       Gets it\n  path        Where it is\n\nFlags:\n      --help   help\n",
      'Use "pilot-agent envoy [command] --help" for more information about a command.\n',
    ].join("\n"),
  );
  const runnable = { ...command, run: async () => 0 };
  expect(helpText({ command: runnable, path: "pilot-agent envoy", subcommands, globalFlags: [] })).toContain(
    "Usage:\n  pilot-agent envoy [flags]\n  pilot-agent envoy [command]\n",
  );
});
