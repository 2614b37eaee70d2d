import { execFile, spawn } from "node:child_process";
import { chmodSync, existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeEach, describe, expect, test } from "vitest";
import { startAgentProcess } from "../test/support/agent/agent-process.ts";
import { createWorkFolder } from "../test/support/envoy/life.ts";
import { needs } from "../test/support/needs.ts";
import { PROGRAM } from "../test/support/process/program.ts";
import { until } from "../test/support/wait/until.ts";
import { startMeshControlPlane } from "../test/support/xds/mesh-control-plane.ts";

const run = promisify(execFile);

/** `pilot-agent ca` on any free port, until disposed. */
async function startCa(directory: string) {
  const child = spawn(PROGRAM, ["ca", "--dir", directory, "--listen", "127.0.0.1:0"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  const exited = new Promise<number | null>((done) => child.once("exit", done));
  const endpoint = () => / on (127\.0\.0\.1:\d+) /.exec(output)?.[1];
  await until(async () => (endpoint() === undefined ? output : undefined));
  return {
    endpoint: endpoint() ?? "",
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      expect(await exited).toBe(0);
    },
  };
}

const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);

test("a directory that cannot be made ends it with a clear error, at once", async () => {
  await expect(
    run(PROGRAM, ["ca", "--dir", "/proc/no/such"], { timeout: 60_000, killSignal: "SIGKILL" }),
  ).rejects.toMatchObject({
    killed: false,
    stderr: expect.stringContaining("the CA's directory /proc/no/such cannot be made"),
  });
});

test("the root survives a restart, its keys stay private, and openssl finds nothing wrong with it", async (context) => {
  needs("openssl")(context);
  using work = createWorkFolder();
  const directory = join(work.folder, "ca");
  const keys = ["ca-key.pem", "token-key.pem"].map((name) => join(directory, name));
  const root = join(directory, "root-cert.pem");
  {
    await using _first = await startCa(directory);
    expect(mode(directory)).toBe("700");
    for (const key of keys) expect(mode(key)).toBe("600");
  }
  const before = [root, ...keys].map((path) => readFileSync(path, "utf8"));
  for (const key of keys) chmodSync(key, 0o644);
  {
    await using _second = await startCa(directory);
    expect([root, ...keys].map((path) => readFileSync(path, "utf8"))).toEqual(before);
    for (const key of keys) expect(mode(key)).toBe("600");
  }
  expect((await run("openssl", ["verify", "-CAfile", root, root])).stdout).toContain("OK");
  expect((await run("openssl", ["x509", "-in", root, "-noout", "-subject"])).stdout).toContain("O = cluster.local");
});

test("a sidecar gets its certificate from it, by a token that the command prints", async (context) => {
  needs("envoy", "openssl")(context);
  using work = createWorkFolder();
  const directory = join(work.folder, "ca");
  await using ca = await startCa(directory);
  const { stdout: token } = await run(PROGRAM, ["ca", "--dir", directory, "--issue-token", "ns/app"]);
  const root = join(directory, "root-cert.pem");
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  await using agent = await startAgentProcess({
    controlPlane,
    files: { token: token.trim() },
    env: { CA_ADDR: ca.endpoint, CA_ROOT_CA: root, OUTPUT_CERTS: "out" },
    wrapper: ["sh", "-c", 'cp token var/run/secrets/tokens/istio-token && exec "$@"', "-"],
  });
  const chain = join(agent.folder, "out/cert-chain.pem");
  await until(async () => (existsSync(chain) ? undefined : agent.stdout().slice(-500)));
  expect((await run("openssl", ["verify", "-CAfile", root, chain])).stdout).toContain("OK");
  const { stdout } = await run("openssl", ["x509", "-in", chain, "-noout", "-ext", "subjectAltName,extendedKeyUsage"]);
  expect(stdout).toContain("URI:spiffe://cluster.local/ns/ns/sa/app");
  expect(stdout).toContain("TLS Web Server Authentication, TLS Web Client Authentication");
});

describe("a directory that cannot be used is named", () => {
  beforeEach(needs("root", "tmpfs"));

  test.each([
    { what: "read-only", options: "ro", path: "disk/ca", says: "the CA's directory disk/ca cannot be made" },
    { what: "full", options: "size=4k", path: "disk", says: "cannot write disk/" },
  ])("$what", async ({ options, path, says }) => {
    using work = createWorkFolder();
    const script = `mkdir disk && mount -t tmpfs -o ${options} tmpfs disk && exec "$@"`;
    const words = ["--mount", "sh", "-c", script, "-", PROGRAM, "ca", "--dir", path, "--listen", "127.0.0.1:0"];
    const refused = run("unshare", words, { cwd: work.folder });
    await expect(refused).rejects.toMatchObject({ code: 255, stderr: expect.stringContaining(says) });
  });
});
