import { expect, test } from "vitest";
import { type CliOutcome, runWords } from "../../../test/support/cli/run-words.ts";
import { COMMANDS } from "../commands/list.ts";
import type { Command, CommandContext, CommandEntry } from "./command.ts";

/** Runs one command line against the given commands with everything captured. */
function run(
  line: string | readonly string[],
  commands: readonly CommandEntry[] = COMMANDS,
  env: CommandContext["env"] = {},
): Promise<CliOutcome> {
  const words = typeof line === "string" ? line.split(" ").filter((word) => word !== "") : line;
  return runWords({ words, commands, env });
}

/** A `proxy` that answers with what reached it, to test the search and the tolerance without an agent. */
const seen: CommandContext[] = [];
const proxy: Command = {
  name: "proxy",
  use: "proxy",
  short: "",
  flags: [
    { name: "concurrency", type: "int", default: 0, usage: "" },
    { name: "domain", type: "string", default: "", usage: "" },
  ],
  toleratesUnknownFlags: true,
  run: async (context) => {
    seen.push(context);
    return 0;
  },
};
const WITH_PROXY: readonly CommandEntry[] = [
  ...COMMANDS.filter((entry) => entry.name !== "proxy"),
  { name: "proxy", short: "", load: async () => proxy },
];

test.each([
  { line: "proxy sidecar --trust-domain=cluster.local --concurrency 2", args: ["sidecar"] },
  { line: "proxy --foo router", args: [] },
  { line: "proxy router --foo", args: ["router"] },
  { line: "proxy --foo=1 router", args: ["router"] },
  { line: "proxy -x=1 router", args: ["router"] },
  { line: "proxy --foo -- router", args: ["router"] },
  { line: "proxy -x router", args: [] },
  { line: "proxy -xy router", args: [] },
  { line: "proxy --log_rotate_max_age 1 router", args: ["router"] },
  { line: "--log_as_json proxy sidecar", args: ["sidecar"] },
  { line: "--foo=1 proxy router", args: ["router"] },
])("$line runs proxy with $args", async ({ line, args }) => {
  seen.length = 0;
  expect((await run(line, WITH_PROXY)).code).toBe(0);
  expect(seen[0]?.args).toEqual(args);
});

test("swallowed unknown flags are reported, each with the word it took", async () => {
  const { logged } = await run("proxy --foo router --bar=1", WITH_PROXY);
  expect(logged.join("")).toContain("Ignoring unknown flag --foo router");
  expect(logged.join("")).toContain("Ignoring unknown flag --bar=1");
});

test.each([
  { line: "foo", message: 'unknown command "foo" for "pilot-agent"' },
  { line: "--foo proxy sidecar", message: 'unknown command "sidecar" for "pilot-agent"' },
  { line: "--log_as_json false version", message: 'unknown command "false" for "pilot-agent"' },
])("$line: no such command, exit 255, and a pointer to the help", async ({ line, message }) => {
  const { code, stderr, logged } = await run(line, WITH_PROXY);
  expect(code).toBe(255);
  expect(stderr).toBe(`Error: ${message}\nRun 'pilot-agent --help' for usage.\n`);
  expect(logged).toEqual([`1970-01-01T00:00:00.000000Z\terror\t${message}\n`]);
});

test("a log scope that nothing logs with is named, once", async () => {
  const { logged } = await run("proxy --log_output_level=delta:debug,dns:info", WITH_PROXY);
  expect(logged.join("").match(/scope .delta. has no effect/g)).toHaveLength(1);
  expect(logged.join("")).not.toContain('scope "dns"');
});

test("a near miss gets a suggestion between the error and the pointer", async () => {
  const { stderr } = await run("prox", WITH_PROXY);
  expect(stderr).toBe(
    `Error: unknown command "prox" for "pilot-agent"\n\nDid you mean this?\n\tproxy\n\nRun 'pilot-agent --help' for usage.\n`,
  );
});

test.each([
  { line: "--foo=bar version", message: "unknown flag: --foo" },
  { line: "version --typo", message: "unknown flag: --typo" },
  { line: "version -z", message: "unknown shorthand flag: 'z' in -z" },
  { line: "version -o", message: "flag needs an argument: 'o' in -o" },
  { line: "version -o xml", message: "--output must be 'yaml' or 'json'" },
  { line: "request GET", message: "requires at least 2 arg(s), only received 1" },
  {
    line: "request --debug-port=9999 GET x",
    message: "debug port 9999 is not in allowed list [15000 15004 15020 15021]",
  },
  { line: "completion bash w", message: 'unknown command "w" for "pilot-agent completion bash"' },
  { line: "version --log_output_level default:loud", message: "invalid output level 'loud'" },
  {
    line: "version --log_target /nonexistent/x",
    message: 'open sink "/nonexistent/x": open /nonexistent/x: no such file or directory',
  },
])("$line fails with 255 and: $message", async ({ line, message }) => {
  const { code, stderr, logged } = await run(line);
  expect({ code, stderr }).toEqual({ code: 255, stderr: `Error: ${message}\n` });
  expect(logged.at(-1)).toContain(`error\t${message}`);
});

test.each(["", "--version", "-x version", "-- version", "-", "help", "--help", "-h"])(
  "'%s' prints the root help and exits 0",
  async (line) => {
    const { code, stdout } = await run(line);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^Istio Pilot agent runs in the sidecar or gateway container and bootstraps Envoy\.\n\nUsage:\n {2}pilot-agent \[command\]\n\nAvailable Commands:\n/,
    );
    expect(stdout.trimEnd().endsWith('Use "pilot-agent [command] --help" for more information about a command.')).toBe(
      true,
    );
  },
);

test("hidden commands are left out of the help", async () => {
  expect((await run("")).stdout).not.toContain("__complete");
});

test.each([
  { line: "help version", usage: "  pilot-agent version [flags]" },
  { line: "version --help", usage: "  pilot-agent version [flags]" },
  { line: "help version extra", usage: "  pilot-agent version [flags]" },
  { line: "request --help", usage: "  pilot-agent request <method> <path> [<body>] [flags]" },
  { line: "completion", usage: "  pilot-agent completion [command]" },
  { line: "completion tcsh", usage: "  pilot-agent completion [command]" },
  { line: "completion zsh -h", usage: "  pilot-agent completion zsh [flags]" },
])("$line prints that command's usage and exits 0", async ({ line, usage }) => {
  const { code, stdout } = await run(line);
  expect(code).toBe(0);
  expect(stdout).toContain(`Usage:\n${usage}\n`);
});

test("a sub-command's help separates its own flags from the global ones, sorted by name", async () => {
  const { stdout } = await run("wait -h");
  const flags = stdout.slice(stdout.indexOf("\nFlags:\n"), stdout.indexOf("\nGlobal Flags:\n"));
  expect([...flags.matchAll(/--(\w+)/g)].map((match) => match[1])).toEqual([
    "help",
    "periodMillis",
    "requestTimeoutMillis",
    "timeoutSeconds",
    "url",
  ]);
  expect(stdout).toContain(
    '--url string                 URL to use in requests (default "http://localhost:15021/healthz/ready")',
  );
});

test("an unknown help topic goes to stderr with the usage and is not a failure", async () => {
  const { code, stdout, stderr } = await run("help foo");
  expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
  expect(stderr).toMatch(/^Unknown help topic \[`foo`\]\nUsage:\n {2}pilot-agent \[command\]\n/);
});

test("an error elsewhere on the line comes before the help", async () => {
  expect((await run("version --help --typo")).stderr).toBe("Error: unknown flag: --typo\n");
});

test("completion proposes commands with their texts, then the directive", async () => {
  const { stdout, stderr } = await run(["__complete", "ver"]);
  expect(stdout).toBe("version\tPrints out build version information\n:4\n");
  expect(stderr).toBe("Completion ended with directive: ShellCompDirectiveNoFileComp\n");
  expect((await run(["__completeNoDesc", "ver"])).stdout).toBe("version\n:4\n");
  expect((await run(["__completeNoDesc", "help", "ver"])).stdout).toBe("version\n:4\n");
});

test("completion proposes a command's flags after a dash", async () => {
  expect((await run(["__complete", "request", "--deb"])).stdout).toBe(
    "--debug-port=\tSet the port to make a local request to. The default points to the Envoy admin API.\n:4\n",
  );
});

test.each(["version", "version --log_as_json --log_output_level=none", "help", "nope"])(
  "%s first tells, in text, of environment values that do not parse",
  async (line) => {
    const env = { SECRET_TTL: "86400", DNS_FORWARD_TIMEOUT: "5" };
    const { logged } = await run(line, COMMANDS, env);
    expect(logged[0]).toBe(
      "1970-01-01T00:00:00.000000Z\twarn\tInvalid environment variable value `86400`, expecting a duration, defaulting to 24h0m0s\tvariable=SECRET_TTL\n",
    );
    // Read at first use: reported only by the command that uses it.
    expect(logged.join("")).not.toContain("`5`");
  },
);

test("an unknown command is quoted as Go quotes", async () => {
  expect((await run(["a\u0007"])).stderr).toContain('unknown command "a\\a" for');
});
