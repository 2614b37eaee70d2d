import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { needs } from "../test/support/needs.ts";
import { startHttpServer } from "../test/support/net/http-server.ts";
import { PROGRAM } from "../test/support/process/program.ts";

const LINE_START = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z\t/gm;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pilot-agent-line-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

interface Run {
  readonly code: number;
  /** Without the times, which differ from run to run. */
  readonly stdout: string;
  readonly stderr: string;
}

/** The built program in an empty directory, with nothing of the caller's environment but PATH. */
function run(
  words: readonly string[],
  env: Record<string, string> = {},
  wrapper: readonly string[] = [],
): Promise<Run> {
  return new Promise((done) => {
    const options = { cwd: folder, env: { PATH: process.env.PATH, CLOUD_PLATFORM: "none", ...env } };
    const [program = PROGRAM, ...args] = [...wrapper, PROGRAM, ...words];
    execFile(program, args, options, (failure, stdout, stderr) =>
      done({ code: Number(failure?.code ?? 0), stdout: stdout.replace(LINE_START, ""), stderr }),
    );
  });
}

test.each([
  { line: ["version", "--typo"], message: "unknown flag: --typo" },
  { line: ["version", "-z"], message: "unknown shorthand flag: 'z' in -z" },
  { line: ["version", "-o"], message: "flag needs an argument: 'o' in -o" },
  { line: ["version", "-o", "xml"], message: "--output must be 'yaml' or 'json'" },
  {
    line: ["version", "-s=yes"],
    message: 'invalid argument "yes" for "-s, --short" flag: strconv.ParseBool: parsing "yes": invalid syntax',
  },
  {
    line: ["proxy", "--stsPort", "abc"],
    message: 'invalid argument "abc" for "--stsPort" flag: strconv.ParseInt: parsing "abc": invalid syntax',
  },
  { line: ["proxy", "--domain"], message: "flag needs an argument: --domain" },
  { line: ["proxy", "---x"], message: "bad flag syntax: ---x" },
  { line: ["request", "GET"], message: "requires at least 2 arg(s), only received 1" },
  { line: ["request", "G T", "a"], message: 'net/http: invalid method "G T"' },
  {
    line: ["wait", "--timeoutSeconds=0"],
    message: "timeout waiting for Envoy proxy to become ready. Last error: <nil>",
    before: "info\tWaiting for Envoy proxy to be ready (timeout: 0 seconds)...\n",
  },
])("$line says it on stderr and in the log, and exits with 255", async ({ line, message, before = "" }) => {
  expect(await run(line)).toEqual({ code: 255, stdout: `${before}error\t${message}\n`, stderr: `Error: ${message}\n` });
});

test("errors of the flags are text even where JSON is asked for, later ones follow the flags", async () => {
  const early = await run(["proxy", "--log_as_json", "--concurrency=x"]);
  expect(early.stdout).toMatch(/^error\tinvalid argument "x" for "--concurrency"/);
  const late = await run(["proxy", "nonsense", "--log_as_json"]);
  const lines = late.stdout.trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line)).at(-1)).toMatchObject({
    level: "error",
    msg: "invalid proxy Type: nonsense",
  });
  expect(late).toMatchObject({ code: 255, stderr: "Error: invalid proxy Type: nonsense\n" });
});

test("with the log silenced only the Error line remains", async () => {
  expect(await run(["proxy", "nonsense", "--log_output_level=default:none"])).toEqual({
    code: 255,
    stdout: "",
    stderr: "Error: invalid proxy Type: nonsense\n",
  });
});

test("proxy logs each flag's parsed value, sorted, then the version; swallowed flags are warned about, not listed", async () => {
  const { stdout } = await run([
    ...["proxy", "nonsense", "--concurrency", "0x10", "--profiling=T", "--foo=1", "--trust-domain=x"],
    ...["--log_target", "stdout", "--log_target", join(folder, "a,b")],
  ]);
  const flags = [...stdout.matchAll(/^info\tFLAG: --([\w-]+)=(.*)$/gm)].map(([, name, value]) => `${name}=${value}`);
  expect(flags).toEqual([
    'concurrency="16"',
    'domain=""',
    'help="false"',
    'log_as_json="false"',
    'log_caller=""',
    'log_output_level=""',
    'log_rotate=""',
    'log_rotate_max_age="30"',
    'log_rotate_max_backups="1000"',
    'log_rotate_max_size="100"',
    'log_stacktrace_level="default:none"',
    `log_target="[stdout,\\"${join(folder, "a,b")}\\"]"`,
    'meshConfig="./etc/istio/config/mesh"',
    'outlierLogPath=""',
    'profiling="true"',
    'proxyComponentLogLevel=""',
    'proxyLogLevel="warning"',
    'serviceCluster="istio-proxy"',
    'stsPort="0"',
    'templateFile=""',
    'tokenManagerPlugin=""',
    'vklog="0"',
  ]);
  expect(stdout).toMatch(/^info\tVersion \S+-\S+-(Clean|Modified|unknown)$/m);
  expect(stdout).toMatch(/^warn\tIgnoring unknown flag --foo=1/m);
  expect(stdout).toMatch(/^warn\tFlag --trust-domain is ignored/m);
});

test.each([
  { generation: "master", level: "warning", components: undefined },
  { generation: "1.20", level: "warning,misc:error", components: undefined },
  { generation: "1.7", level: "warning", components: "misc:error" },
])("the help of proxy shows the defaults of $generation", async ({ generation, level, components }) => {
  const { stdout } = await run(["proxy", "--help"], { PILOT_AGENT_GENERATION: generation });
  const shown = (flag: string) => new RegExp(`--${flag} string .*\\(default "(.*)"\\)$`, "m").exec(stdout)?.[1];
  expect([shown("proxyLogLevel"), shown("proxyComponentLogLevel")]).toEqual([level, components]);
});

test("settings of other times say once that they have no effect, and what replaces them", async () => {
  const words = [
    "proxy",
    "--mixerIdentity=m",
    "--disableInternalTelemetry",
    "--log_output_level=default:info,delta:debug",
  ];
  const env = { XDS_SAVE: "/x", SECRET_ROTATION_CHECK_INTERVAL: "5m", PROXY_CONFIG: "statusPort: 99999" };
  const { stdout } = await run(words, env);
  const warnings = stdout.split("\n").filter((line) => line.startsWith("warn\t"));
  for (const says of [
    /--mixerIdentity .*there is no Mixer/,
    /--disableInternalTelemetry .*there is no Mixer/,
    /XDS_SAVE has no effect: XDS_LAST_GOOD/,
    /SECRET_ROTATION_CHECK_INTERVAL has no effect: .*SECRET_GRACE_PERIOD_RATIO/,
    /scope .delta. has no effect/,
  ])
    expect(
      warnings.filter((line) => says.test(line)),
      String(says),
    ).toHaveLength(1);
});

test.each([["version", "--short"], ["help"], ["nonsense"]])(
  "%s first warns, on stdout, of environment values that do not parse",
  async (...line) => {
    const { stdout } = await run(line, { SECRET_TTL: "86400", DISABLE_ENVOY: "", ENVOY_STATUS_PORT: "0x10" });
    expect(stdout.split("\n").slice(0, 3)).toEqual([
      "warn\tInvalid environment variable value `86400`, expecting a duration, defaulting to 24h0m0s\tvariable=SECRET_TTL",
      "warn\tInvalid environment variable value ``, expecting true/false, defaulting to false\tvariable=DISABLE_ENVOY",
      "warn\tInvalid environment variable value `0x10`, expecting an integer, defaulting to 15021\tvariable=ENVOY_STATUS_PORT",
    ]);
  },
);

test("unknown members and near misses of names are noticed, and the start goes on to the next complaint", async () => {
  const env = { PROXY_CONFG: "{}", PROXY_CONFIG: "{discoveryAddres: a:1, statusPort: 99999}" };
  const { stdout } = await run(["proxy"], env);
  expect(stdout).toContain("warn\tPROXY_CONFG is no variable of pilot-agent; did you mean PROXY_CONFIG?\n");
  expect(stdout).toContain(
    "warn\tenvironment variable PROXY_CONFIG: discoveryAddres has no effect: ProxyConfig has no such member; did you mean discoveryAddress?\n",
  );
  expect(stdout).toContain("error\tConfiguration problem: environment variable PROXY_CONFIG, field statusPort: ");
});

test("every configuration problem is reported with its source before the command ends", async () => {
  mkdirSync(join(folder, "etc/istio/pod"), { recursive: true });
  writeFileSync(join(folder, "etc/istio/pod/annotations"), 'proxy.istio.io/config="drainDuration: 1.5s"\n');
  const { code, stdout } = await run(["proxy", "nonsense"], {
    PROXY_CONFIG: "discoveryAddress: nowhere",
    CREDENTIAL_FETCHER_TYPE: "Foo",
  });
  expect(code).toBe(255);
  const sources = [...stdout.matchAll(/^error\tConfiguration problem: (.*?)(?:, field (\w+))?: /gm)];
  expect(sources.map(([, source, field]) => `${source} ${field}`)).toEqual([
    "first argument of proxy undefined",
    "annotation proxy.istio.io/config drainDuration",
    "environment variable PROXY_CONFIG discoveryAddress",
    "environment variable CREDENTIAL_FETCHER_TYPE undefined",
  ]);
});

test("wait sleeps first, asks until the answer is 200 and ends with 0", async () => {
  let asked = 0;
  await using server = await startHttpServer((_request, response) => {
    asked += 1;
    response.writeHead(asked < 3 ? 503 : 200).end();
  });
  const { code, stdout } = await run([
    ...["wait", "--url", server.url, "--periodMillis=10", "--requestTimeoutMillis=30000", "--log_output_level=debug"],
  ]);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout:
      "info\tWaiting for Envoy proxy to be ready (timeout: 60 seconds)...\n" +
      "debug\tNot ready yet: HTTP status code 503\ndebug\tNot ready yet: HTTP status code 503\ninfo\tEnvoy is ready!\n",
  });
});

test("a warning of Node is printed and ends nothing", async () => {
  const preload = join(folder, "warn.cjs");
  writeFileSync(preload, 'setTimeout(() => process.emitWarning("take note"), 300);');
  const { code, stderr } = await run(["wait", "--timeoutSeconds=1", "--url=http://127.0.0.1:1/"], {
    NODE_OPTIONS: `--require ${preload}`,
  });
  expect(stderr).toMatch(/Warning: take note\n/);
  expect(stderr).toMatch(/^Error: timeout waiting for Envoy proxy to become ready/m);
  expect(code).toBe(255);
});

test.each([
  { line: "version", redirect: ">/dev/full" },
  { line: "version", redirect: ">/dev/full 2>/dev/full" },
  { line: "foo", redirect: ">/dev/full 2>/dev/full" },
])("$line with $redirect fails by its exit code, not by a crash", async ({ line, redirect }) => {
  const code = await new Promise((done) =>
    execFile("/bin/sh", ["-c", `"$0" ${line} ${redirect}`, PROGRAM], { cwd: folder }, (failure) => done(failure?.code)),
  );
  expect(code).toBe(255);
});

describe("in a network without even a loopback device that is up", () => {
  beforeEach(needs("root", "netns"));

  test.each([
    { line: ["request", "GET", "stats"], before: 'Get "http://localhost:15000/stats"' },
    {
      line: ["wait", "--timeoutSeconds=1", "--periodMillis=100"],
      before: 'timeout waiting for Envoy proxy to become ready. Last error: Get "http://localhost:15021/healthz/ready"',
    },
  ])("$line tells the reason instead of crashing", async ({ line, before }) => {
    const { code, stderr } = await run(line, {}, ["unshare", "--net"]);
    const port = /:(\d+)\//.exec(before)?.[1];
    expect(stderr).toBe(`Error: ${before}: dial tcp 127.0.0.1:${port}: connect: network is unreachable\n`);
    expect(code).toBe(255);
  });
});
