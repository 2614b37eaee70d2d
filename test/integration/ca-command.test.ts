import { expect, test } from "vitest";
import "../support/no-open-handles.ts";
import { createLog } from "../../src/base/log/log.ts";
import { Secret } from "../../src/base/secret.ts";
import { COMMANDS } from "../../src/cli/commands/list.ts";
import { runCli } from "../../src/cli/framework/run-cli.ts";
import { startTestClient } from "../support/certs/ca-client-setup.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";

interface Run {
  readonly code: Promise<number>;
  stdout(): string;
  stderr(): string;
  stop(): void;
}

function run(...words: string[]): Run {
  let [stdout, stderr] = ["", ""];
  const stop = new AbortController();
  const log = createLog(() => 0);
  const silent = { json: false, outputLevels: new Map(), stackLevels: new Map(), callerScopes: new Set<string>() };
  log.configure({ ...silent, targets: [] });
  const code = runCli({
    words: ["ca", ...words],
    commands: COMMANDS,
    env: {},
    log: { ...log, configure: () => undefined },
    signal: stop.signal,
    onSignal: () => undefined,
    uptimeMs: () => 0,
    commandLine: [],
    isTerminal: false,
    now: () => 0,
    print: (text) => {
      stdout += text;
    },
    printError: (text) => {
      stderr += text;
    },
  });
  return { code, stdout: () => stdout, stderr: () => stderr, stop: () => stop.abort() };
}

test("a workload gets its certificate with the token that the command prints", async () => {
  await using directory = temporaryFolder();
  const dir = directory.file("ca");
  const server = run("--dir", dir, "--listen", "127.0.0.1:0");
  await expect.poll(server.stdout).toContain("to get a token:");
  const [, endpoint = ""] = / on (127\.0\.0\.1:\d+) \(self-signed\)/.exec(server.stdout()) ?? [];
  const [, rootFile = ""] = /root certificate: (.*)/.exec(server.stdout()) ?? [];
  const issue = run("--dir", dir, "--issue-token", "default/web", "--token-ttl", "1m");
  expect(await issue.code).toBe(0);
  const token = new Secret(issue.stdout().trim());
  const tokens = { identityProvider: "", fetch: async () => token, stop: async () => undefined };
  await using client = await startTestClient({ endpoint, rootFile, tokens });
  expect((await client.sign()).chain).toHaveLength(2);
  expect(server.stdout() + server.stderr()).not.toMatch(/PRIVATE|eyJ/);
  server.stop();
  expect(await server.code).toBe(0);
});

test.each([
  { words: [], says: 'required flag "dir" not set' },
  {
    words: ["--dir", "DIR", "--key", "constructor"],
    says: '--key is "constructor", allowed are p256, p384, rsa2048, rsa4096',
  },
  { words: ["--dir", "DIR", "--key", "dsa"], says: '--key is "dsa", allowed are p256, p384, rsa2048, rsa4096' },
  { words: ["--dir", "DIR", "--listen", "nowhere"], says: '--listen is "nowhere", expected HOST:PORT' },
  { words: ["--dir", "DIR", "--jwt-rule", "{"], says: "--jwt-rule (or JWT_RULE) cannot be used: not JSON" },
  { words: ["--dir", "DIR", "--issue-token", "web"], says: '--issue-token is "web", expected NAMESPACE/ACCOUNT' },
  {
    words: ["--dir", "DIR", "--issue-token", "a/b", "--token-ttl", "1ms"],
    says: "--token-ttl is 1ms, the least is 1s",
  },
  { words: ["--dir", "DIR", "word"], says: "accepts no arguments" },
])("$words is refused in one line", async ({ words, says }) => {
  await using directory = temporaryFolder();
  const refused = run(...words.map((word) => (word === "DIR" ? directory.file("ca") : word)));
  expect(await refused.code).toBe(255);
  expect(refused.stderr()).toContain(says);
});

test("a directory with a part of a CA is refused with what is missing", async () => {
  await using directory = temporaryFolder({ files: { "ca-key.pem": "x" } });
  const refused = run("--dir", directory.path, "--listen", "127.0.0.1:0");
  expect(await refused.code).toBe(255);
  expect(refused.stderr()).toContain("incomplete signing CA bundle detected");
  expect(refused.stderr()).toContain("ca-cert.pem, root-cert.pem, cert-chain.pem");
});
