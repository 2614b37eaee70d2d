import { readFileSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { leftovers, type MeshRun, machineRules, startMeshRun } from "../test/support/mesh/run.ts";
import { has, needs, type Requirement } from "../test/support/needs.ts";
import { fetchAnswer } from "../test/support/net/fetch-answer.ts";
import { until } from "../test/support/wait/until.ts";

interface Page {
  readonly catalogue: { readonly version?: string; readonly caller?: string; readonly error?: string };
  readonly stock: { readonly servedBy?: string; readonly caller?: string; readonly error?: string };
  readonly price: { readonly cents?: number; readonly servedBy?: string; readonly error?: string };
}

async function page(url: string): Promise<Page> {
  const { status, body } = await fetchAnswer(url);
  if (status !== 200) throw new Error(`${status} ${body}`);
  return JSON.parse(body) as Page;
}

/** Ten at a time: a busy machine answers each of them in the time that the front gives a call. */
async function pages(url: string, requests: number): Promise<readonly Page[]> {
  const all: Page[] = [];
  while (all.length < requests) all.push(...(await Promise.all(Array.from({ length: 10 }, () => page(url)))));
  return all;
}

/** Which catalogue answers, asked from outside the mesh. */
async function versions(url: string, requests: number): Promise<Readonly<Record<string, number>>> {
  const seen: Record<string, number> = {};
  for (const { catalogue } of await pages(url, requests)) {
    const { version = "error" } = catalogue;
    seen[version] = (seen[version] ?? 0) + 1;
  }
  return seen;
}

const MODES: readonly { readonly isolation: "namespaces" | "none"; readonly requires: readonly Requirement[] }[] = [
  { isolation: "namespaces", requires: ["envoy", "netns", "iptables", "setpriv"] },
  { isolation: "none", requires: ["envoy"] },
];

describe.each(MODES)("the demo shop with isolation $isolation", ({ isolation, requires }) => {
  let mesh: MeshRun;
  let url: string;
  let rules: string;
  beforeAll(async () => {
    if (!requires.every(has)) return;
    rules = await machineRules();
    mesh = startMeshRun({ args: ["--isolation", isolation] });
    await mesh.untilUp();
    url = (await mesh.status()).entries.front ?? "";
  }, 90_000);
  afterAll(async () => {
    if (requires.every(has)) await mesh[Symbol.asyncDispose]();
  });
  beforeEach(needs(...requires));

  test("says when it is ready, where to look and what to try", () => {
    expect(mesh.output()).toMatch(/ready after [\d.]+ s: 7 workloads/);
    expect(mesh.output()).toContain(`front: ${url}/`);
    expect(mesh.output()).toMatch(/mesh status[\s\S]*split-80-20\.yaml[\s\S]*fault\.yaml[\s\S]*mesh kill front\/envoy/);
  });

  test("every call between services is mutual TLS, shown by the caller's identity, gRPC included", async () => {
    const { catalogue, stock, price } = await page(url);
    const front = "spiffe://cluster.local/ns/shop/sa/front";
    expect(catalogue).toMatchObject({ version: "v1", caller: front });
    expect(stock).toMatchObject({ servedBy: "stock", caller: front });
    expect(price).toEqual({ cents: 103, servedBy: "prices" });
  });

  test("plain text from outside is refused except at the entry", async () => {
    const { workloads } = await mesh.status();
    const stock = workloads.find(({ name }) => name === "stock");
    await expect(fetchAnswer(`http://${stock?.address}:8480/`)).rejects.toThrow(/socket hang up|ECONNRESET/);
  });

  test("mesh apply shifts a fifth of the requests, measured from outside before and after, and takes it back", async () => {
    const split = `${mesh.stateFolder}/try/split-80-20.yaml`;
    expect(await versions(url, 100)).toEqual({ v1: 100 });
    expect(await mesh.cli("apply", "-f", split)).toMatchObject({
      code: 0,
      stdout: "VirtualService shop/catalogue applied\n",
    });
    await until(async () => ((await versions(url, 20)).v2 === undefined ? "not shifted yet" : undefined));
    const seen = await versions(url, 500);
    // Five standard deviations of 500 draws at one in five.
    expect(Math.abs((seen.v2 ?? 0) - 100)).toBeLessThan(45);
    expect((seen.v1 ?? 0) + (seen.v2 ?? 0)).toBe(500);
    expect(await mesh.cli("apply", "--delete", "-f", split)).toMatchObject({ code: 0 });
    await until(async () => ((await versions(url, 50)).v1 === 50 ? undefined : "not taken back yet"));
  });

  test("the fault to try makes half of the calls fail", async () => {
    const fault = `${mesh.stateFolder}/try/fault.yaml`;
    expect((await mesh.cli("apply", "-f", fault)).code).toBe(0);
    await until(async () => ((await page(url)).stock.error?.startsWith("503") ? undefined : "no fault yet"));
    const errors = (await pages(url, 200)).flatMap(({ stock }) => stock.error ?? []);
    expect(errors.filter((error) => !error.startsWith("503"))).toEqual([]);
    // Five standard deviations of 200 draws at one in two.
    expect(Math.abs(errors.length - 100)).toBeLessThan(36);
    await mesh.cli("apply", "--delete", "-f", fault);
    await until(async () => {
      const again = await pages(url, 20);
      return again.some(({ stock }) => stock.error !== undefined) ? "still failing" : undefined;
    });
  });

  test("objects with a mistake are refused with line and column and change nothing", async () => {
    const path = mesh.write(
      "bad.yaml",
      "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: x}\nspec:\n  hosts: [a]\n  http:\n    - timeout: 0s\n",
    );
    const { code, stderr } = await mesh.cli("apply", "-f", path);
    expect(code).toBe(1);
    expect(stderr).toMatch(/bad\.yaml:7:7: .*duration must be greater than 1ms/);
  });

  test("exec runs where the workload runs: its addresses reach the services", async () => {
    const script = 'curl -s -m 5 "$CATALOGUE_URL/"; echo; echo $MESH_WORKLOAD; exit 7';
    const { code, stdout } = await mesh.cli("exec", "front", "--", "sh", "-c", script);
    expect(stdout).toContain('"caller":"spiffe://cluster.local/ns/shop/sa/front"');
    expect(stdout).toContain("front\n");
    expect(code).toBe(7);
  });

  test("logs are prefixed and can be asked for by workload", async () => {
    const { stdout } = await mesh.cli("logs", "front", "--tail", "3");
    expect(stdout).toMatch(/^front\/agent \| .*\n/m);
    expect(stdout).toMatch(/^front\/app {3}\| listening on /m);
    expect(stdout).not.toContain("stock/");
    expect((await mesh.cli("logs", "stranger")).stderr).toContain(
      "there is no log of stranger; there are catalogue-v1",
    );
  });

  test("agents and Envoys run as 1337 with namespaces, applications do not", async () => {
    const { workloads } = await mesh.status();
    const uid = (pid: number) => Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
    for (const { agent, app, envoyPid } of workloads) {
      if (agent.phase !== "running" || app.phase !== "running") throw new Error("not running");
      const expected = isolation === "namespaces" ? 1337 : process.getuid?.();
      expect([uid(agent.pid), uid(envoyPid ?? 0)]).toEqual([expected, expected]);
      expect(uid(app.pid)).toBe(process.getuid?.());
      expect(readFileSync(`/proc/${agent.pid}/cmdline`, "utf8")).toMatch(/^pilot-agent proxy sidecar\b/);
    }
  });

  test.each(["envoy", "agent", "app"])("a killed %s is started again at once, and serves", async (part) => {
    const catalogue = async () => (await mesh.status()).workloads.find(({ name }) => name === "catalogue-v1");
    const pid = (workload: Awaited<ReturnType<typeof catalogue>>) => {
      if (part === "envoy") return workload?.envoyPid;
      const status = part === "agent" ? workload?.agent : workload?.app;
      return status?.phase === "running" ? status.pid : undefined;
    };
    const log = `${mesh.stateFolder}/logs/catalogue-v1.agent.log`;
    const starts = () => readFileSync(log, "utf8").match(/Envoy command: /g)?.length ?? 0;
    const [before, startsBefore] = [await catalogue(), starts()];
    expect(await mesh.cli("kill", `catalogue-v1/${part}`)).toMatchObject({ code: 0 });
    await until(async () => {
      const now = await catalogue();
      if (now?.ready !== true || pid(now) === undefined || pid(now) === pid(before)) return `not back: ${now?.reason}`;
      return (await page(url)).catalogue.version === "v1" ? undefined : "not serving";
    });
    // The pause before the first restart, and no restart after it.
    if (part !== "envoy")
      expect(mesh.output()).toContain(`catalogue-v1/${part}: ended by SIGKILL; starting it again in 0.1 s\n`);
    expect(starts() - startsBefore).toBe(part === "app" ? 0 : 1);
  });

  test("restart gives an application a new process; ls shows the mesh as running", async () => {
    const appPid = async () => {
      const { workloads } = await mesh.status();
      const app = workloads.find(({ name }) => name === "catalogue-v1")?.app;
      return app?.phase === "running" ? app.pid : undefined;
    };
    const before = await appPid();
    expect(await mesh.cli("restart", "catalogue-v1")).toMatchObject({
      code: 0,
      stdout: "catalogue-v1/app restarted\n",
    });
    await until(async () => ([undefined, before].includes(await appPid()) ? "not back" : undefined));
    expect((await mesh.cli("ls")).stdout).toMatch(/^\S+ +running +\d+ +20/m);
  });

  test("status is a table with an exit code", async () => {
    let table = "";
    // The kills before may still show, in a workload that called the one killed as well.
    await until(async () => {
      const { code, stdout } = await mesh.cli("status");
      table = stdout;
      return code === 0 ? undefined : stdout;
    });
    expect(table).toMatch(/^WORKLOAD +READY +ADDRESS +APP +AGENT +ENVOY +RESTARTS +REASON$/m);
    expect(table).toMatch(/^front +yes +\S+ +\d+ +\d+ +\d+ +\d+$/m);
  });

  test("the same mesh cannot be started twice", async () => {
    const second = startMeshRun({ folder: mesh.folder, args: ["--isolation", isolation] });
    expect(await second.exited).toBe(1);
    expect(second.output()).toContain(`this mesh runs already, as process ${mesh.child.pid}`);
  });

  test("Ctrl-C ends it in order and leaves nothing on the machine", async () => {
    const state = mesh.state();
    expect((await leftovers(state)).length).toBeGreaterThan(0);
    mesh.child.kill("SIGINT");
    expect(await mesh.exited).toBe(0);
    expect(await leftovers(state)).toEqual([]);
    expect(await machineRules()).toBe(rules);
    expect((await mesh.cli("status")).stderr).toContain("no mesh runs in");
  });
});
