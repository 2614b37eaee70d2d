import { execFile, spawn } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { needs } from "../test/support/needs.ts";

const root = resolve(import.meta.dirname, "..");
const launcher = join(root, "bin/pilot-agent");
const exec = promisify(execFile);
const cacheFiles = (copy: string) => readdirSync(join(copy, "dist")).filter((name) => name.endsWith(".cache"));

let folder: string;
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "pilot agent launcher ")));
});
afterAll(() => rmSync(folder, { recursive: true }));

test("it runs through a chain of absolute and relative symlinks, from any directory, with spaces in the path", async () => {
  mkdirSync(join(folder, "deep er"));
  symlinkSync(launcher, join(folder, "deep er", "first"));
  symlinkSync("deep er/first", join(folder, "second"));
  const { stdout } = await exec(join(folder, "second"), ["version", "--short"], { cwd: "/" });
  expect(stdout).toMatch(/^client version: \S+\n$/);
});

test("a copy of the package in a folder with a space in its name runs", async () => {
  cpSync(join(root, "bin"), join(folder, "copy of it", "bin"), { recursive: true });
  cpSync(join(root, "dist"), join(folder, "copy of it", "dist"), { recursive: true });
  const { stdout } = await exec(join(folder, "copy of it", "bin/pilot-agent"), ["version", "-s"], { cwd: folder });
  expect(stdout).toContain("client version: ");
});

test.each([{ words: ["version"] }, { words: ["mesh", "ls"] }])(
  "$words under a Node that is too old ends with one sentence",
  async ({ words }) => {
    const old = join(folder, "old-node");
    // A Node that says of itself that it is older.
    const disguise = join(folder, "disguise.cjs");
    writeFileSync(
      disguise,
      'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "18.20.4" } });',
    );
    writeFileSync(old, `#!/bin/sh\nexec '${process.execPath}' --require '${disguise}' "$@"\n`, { mode: 0o755 });
    await expect(exec(launcher, words, { env: { ...process.env, PILOT_AGENT_NODE: old } })).rejects.toMatchObject({
      code: 1,
      stdout: "",
      stderr: `pilot-agent needs Node 20.19 or newer; ${process.execPath} is 18.20.4 (PILOT_AGENT_NODE names another one)\n`,
    });
  },
);

test("the launcher asks for the Node that the package does", () => {
  const { engines } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  expect(readFileSync(join(root, "bin/check-node.cjs"), "utf8")).toContain(
    `needed = [${/(\d+)\.(\d+)/.exec(engines.node)?.slice(1).join(", ")}]`,
  );
});

test("without a build it says what to run", async () => {
  cpSync(join(root, "bin"), join(folder, "unbuilt", "bin"), { recursive: true });
  await expect(exec(join(folder, "unbuilt", "bin/pilot-agent"), ["version"])).rejects.toMatchObject({
    code: 127,
    stderr: expect.stringContaining("run 'npm ci'"),
  });
});

test.each([{ signal: "SIGTERM" as const }, { signal: "SIGINT" as const }])(
  "it becomes the Node process, and $signal reaches that",
  async ({ signal }) => {
    // A server that accepts and stays silent keeps `wait` waiting.
    const silent = createServer().listen(0, "127.0.0.1");
    await new Promise((done) => silent.once("listening", done));
    const accepted = new Promise<Socket>((done) => silent.once("connection", done));
    const { port } = silent.address() as { port: number };
    const child = spawn(
      launcher,
      ["wait", "--url", `http://127.0.0.1:${port}`, "--periodMillis=1", "--requestTimeoutMillis=60000"],
      {
        stdio: "ignore",
      },
    );
    const exited = new Promise((done) => child.once("exit", (_code, by) => done(by)));
    const connection = await accepted;
    expect(readFileSync(`/proc/${child.pid}/cmdline`, "utf8")).toMatch(/^pilot-agent wait --url http:/);
    expect(readFileSync(`/proc/${child.pid}/comm`, "utf8")).toBe("pilot-agent\n");
    child.kill(signal);
    expect(await exited).toBe(signal);
    connection.destroy();
    silent.close();
  },
);

test.each([
  { limit: "100MiB", flag: "--max-old-space-size=100 " },
  { limit: "204800KiB", flag: "--max-old-space-size=200 " },
  // No lower than what V8 takes of the largest machine.
  { limit: "4GiB", flag: "" },
  { limit: "4294967296", flag: "" },
  { limit: "209715200", flag: "--max-old-space-size=200 " },
  { limit: "10MiB", flag: "--max-old-space-size=64 " },
  { limit: "99999999999999999999GiB", flag: "" },
  { limit: "18446744073709551616", flag: "" },
  { limit: "089MiB", flag: "" },
  { limit: "off", flag: "" },
  { limit: "", flag: "" },
])("GOMEMLIMIT '$limit' starts Node with '$flag'", async ({ limit, flag }) => {
  const env = { PATH: process.env.PATH, GOMEMLIMIT: limit, PILOT_AGENT_NODE: "/bin/echo" };
  const { stdout } = await exec(launcher, ["version", "two words"], { env });
  expect(stdout).toBe(`${flag}--use-openssl-ca --v8-pool-size=1 ${join(root, "bin/prepared.cjs")} version two words\n`);
});

test.for([
  { memory: "1073741824", flag: "" },
  { memory: "4294967296", flag: "--max-old-space-size=1024 " },
  { memory: "max", flag: "--max-old-space-size=1024 " },
])(
  "GOMEMLIMIT of 1 GiB in a container of $memory bytes starts Node with '$flag'",
  async ({ memory, flag }, context) => {
    needs("tmpfs")(context);
    const cgroup = mkdtempSync(join(folder, "cgroup "));
    writeFileSync(join(cgroup, "memory.max"), `${memory}\n`);
    const env = { PATH: process.env.PATH, GOMEMLIMIT: "1073741824", PILOT_AGENT_NODE: "/bin/echo" };
    const inContainer = `mount --bind "$1" /sys/fs/cgroup && shift && exec "$@"`;
    const words = ["--mount", "sh", "-c", inContainer, "sh", cgroup, launcher, "version"];
    const { stdout } = await exec("unshare", words, { env });
    expect(stdout.startsWith(`${flag}--use-openssl-ca`)).toBe(true);
  },
);

test.each([{ name: "NODE_EXTRA_CA_CERTS" }, { name: "SSL_CERT_FILE" }, { name: "SSL_CERT_DIR" }])(
  "roots that $name adds are taken the usual way",
  async ({ name }) => {
    const env = { PATH: process.env.PATH, PILOT_AGENT_NODE: "/bin/echo", [name]: "/roots" };
    expect((await exec(launcher, ["help"], { env })).stdout).toBe(`${join(root, "bin/start.cjs")} help\n`);
  },
);

test.each([
  { what: "this Node has built it", isKept: true, words: ["proxy"], file: "proxy.cjs" },
  { what: "another Node has built it", isKept: false, words: ["proxy"], file: "main.js" },
  { what: "log lines name source files", isKept: true, words: ["proxy", "--log_caller=default"], file: "main.js" },
  { what: "this Node has built it", isKept: true, words: ["istio-iptables"], file: "commands.cjs" },
  { what: "this Node has built it", isKept: true, words: ["istio-clean-iptables"], file: "commands.cjs" },
  { what: "this Node has built it", isKept: true, words: ["request"], file: "commands.cjs" },
  { what: "this Node has built it", isKept: true, words: ["wait"], file: "commands.cjs" },
  { what: "this Node has built it", isKept: true, words: ["version"], file: "commands.cjs" },
  { what: "this Node has built it", isKept: true, words: ["analyze"], file: "analysis.cjs" },
  { what: "this Node has built it", isKept: true, words: ["simulate"], file: "analysis.cjs" },
  { what: "this Node has built it", isKept: true, words: ["discovery", "explain"], file: "analysis.cjs" },
  { what: "it is a server", isKept: true, words: ["discovery"], file: "main.js" },
  { what: "another Node has built it", isKept: false, words: ["analyze"], file: "main.js" },
  { what: "another Node has built it", isKept: false, words: ["wait"], file: "main.js" },
  { what: "it is none of those that a pod waits for", isKept: true, words: ["envoy"], file: "main.js" },
])("$words runs from $file when $what", async ({ isKept, words, file }) => {
  const copy = mkdtempSync(join(folder, "prepared "));
  for (const name of ["bin", "dist"]) cpSync(join(root, name), join(copy, name), { recursive: true });
  if (!isKept) for (const name of cacheFiles(copy)) rmSync(join(copy, "dist", name));
  expect(cacheFiles(copy)).toHaveLength(isKept ? 4 : 0);
  // Whichever file does not run may as well be broken.
  for (const name of ["proxy.cjs", "commands.cjs", "analysis.cjs", "main.js"].filter((each) => each !== file)) {
    writeFileSync(join(copy, "dist", name), "(() => { throw new Error('the wrong file') })");
  }
  const { stdout } = await exec(join(copy, "bin/pilot-agent"), [...words, "--help"], {
    env: { PATH: process.env.PATH },
  });
  expect(stdout).toContain(`help for ${words.findLast((word) => !word.startsWith("-"))}`);
});

test.each([{ limit: "" }, { limit: "1GiB" }])(
  "V8 takes the code of the build with GOMEMLIMIT '$limit'",
  async ({ limit }) => {
    const report = join(folder, "report-code.cjs");
    writeFileSync(
      report,
      `const vm = require("node:vm");
    vm.Script = class extends vm.Script {
      constructor(text, options) {
        super(text, options);
        if (options?.cachedData !== undefined) console.log("rejected: " + this.cachedDataRejected);
      }
    };`,
    );
    const env = { PATH: process.env.PATH, GOMEMLIMIT: limit, NODE_OPTIONS: `--require="${report}"` };
    for (const name of ["proxy", "version", "analyze"]) {
      const { stdout } = await exec(launcher, [name, "--help"], { env });
      expect(stdout).toMatch(/^rejected: false\n(?!rejected)/);
    }
  },
);

test("exit codes pass through", async () => {
  await expect(exec(launcher, ["nope"])).rejects.toMatchObject({ code: 255 });
});

test("a reader that has gone ends it quietly, as a broken pipe does elsewhere", async () => {
  const child = spawn(launcher, ["help"], { stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.destroy();
  const [stderr, code] = await Promise.all([text(child.stderr), new Promise((done) => child.once("close", done))]);
  expect({ stderr, code }).toEqual({ stderr: "", code: 141 });
});

test("a command loads only its own code", async () => {
  const { stdout } = await exec(process.execPath, [join(root, "dist/main.js"), "version"], {
    env: {
      ...process.env,
      NODE_OPTIONS: `--import=${new URL("../test/support/process/print-loaded-modules.mjs", import.meta.url).href}`,
    },
  });
  const loaded = stdout.split("\n").filter((line) => line.startsWith("loaded "));
  const chunks = loaded
    .map((line) => line.slice("loaded ".length))
    .filter((path) => path.startsWith(join(root, "dist")));
  const sources = chunks.flatMap(
    (path) => (JSON.parse(readFileSync(`${path}.map`, "utf8")) as { sources: string[] }).sources,
  );
  const folders = new Set(
    sources.map((source) => /src\/(\w[\w-]*)/.exec(source)?.[1]).filter((name) => name !== undefined),
  );
  expect([...folders].sort()).toEqual(["base", "cli", "files", "main", "settings"]);
  const filesOf = (room: string) =>
    sources.filter((source) => source.includes(`/src/${room}/`)).map((source) => source.split("/").at(-1));
  // Every command checks the environment's scalars; of the settings it loads that table and no more.
  expect(filesOf("settings").sort()).toEqual([
    "env-reader.ts",
    "environment-table.ts",
    "environment-variable.ts",
    "environment-warnings.ts",
  ]);
  // What is wrong with a value that should be JSON.
  expect(filesOf("files")).toEqual(["json-syntax-error.ts"]);
});

test("the packed package installs elsewhere without dependencies and runs by npx", async () => {
  const elsewhere = join(folder, "else where");
  mkdirSync(elsewhere);
  const packed = await exec("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", elsewhere], {
    cwd: root,
  });
  const [{ filename }] = JSON.parse(packed.stdout) as [{ filename: string }];
  writeFileSync(join(elsewhere, "package.json"), '{"name": "elsewhere", "version": "1.0.0"}');
  await exec("npm", ["install", "--offline", "--no-audit", `./${filename}`], { cwd: elsewhere });
  const { stdout } = await exec("npx", ["--no-install", "pilot-agent", "version"], { cwd: elsewhere });
  expect(stdout).toContain("client version: version.BuildInfo{");
});
