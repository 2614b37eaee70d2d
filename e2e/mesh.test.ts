import { readFileSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { GraphEdge, GraphSnapshot } from "../src/console/api.ts";
import { type ConsoleEvent, openConsole } from "../test/support/console/console-client.ts";
import { complaints, leftovers, type MeshRun, ownRules, startMeshRun } from "../test/support/mesh/run.ts";
import { has, needs, type Requirement } from "../test/support/needs.ts";
import { fetchAnswer } from "../test/support/net/fetch-answer.ts";
import { PROGRAM } from "../test/support/process/program.ts";
import { openTerminal } from "../test/support/process/terminal.ts";
import { seriesOf } from "../test/support/telemetry/read-metrics.ts";
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
  beforeAll(async () => {
    if (!requires.every(has)) return;
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
    expect(mesh.output()).toMatch(
      /mesh status[\s\S]*logs -f load\/app[\s\S]*split-80-20\.yaml[\s\S]*fault\.yaml[\s\S]*mesh kill front\/envoy/,
    );
  });

  test.each([
    { from: "load", to: "front", service: "front", request_protocol: "http" },
    { from: "front", to: "catalogue-v1", service: "catalogue", request_protocol: "http" },
    { from: "front", to: "stock", service: "stock", request_protocol: "http" },
    { from: "front", to: "prices", service: "prices", request_protocol: "grpc" },
  ])("metrics of both ends say that $from calls $to", async ({ from, to, service, request_protocol }) => {
    const { workloads } = await mesh.status();
    const principal = (account: string) => `spiffe://cluster.local/ns/shop/sa/${account}`;
    const both = {
      source_workload: from,
      source_principal: principal(from),
      destination_workload: to,
      destination_principal: principal(service),
      destination_service: `${service}.shop.svc.cluster.local`,
      request_protocol,
      response_code: "200",
    };
    const seenAt = async (name: string, labels: object) => {
      const { address, ports } = workloads.find((each) => each.name === name) ?? { address: "", ports: { status: 0 } };
      const { body } = await fetchAnswer(`http://${address}:${ports.status}/stats/prometheus`);
      expect(seriesOf(body, "istio_requests_total")).toContainEqual(expect.objectContaining({ ...both, ...labels }));
    };
    await until(() => seenAt(from, { reporter: "source", connection_security_policy: "unknown" }));
    await until(() => seenAt(to, { reporter: "destination", connection_security_policy: "mutual_tls" }));
  });

  describe("its console", () => {
    const looking = new AbortController();
    let client: Awaited<ReturnType<typeof openConsole>>;
    let events: ConsoleEvent[];
    beforeAll(async () => {
      if (!requires.every(has)) return;
      const [, link = ""] = /^Console: (\S+)$/m.exec(mesh.output()) ?? [];
      client = await openConsole(link);
      events = await client.follow("/api/events", looking.signal);
    });
    afterAll(() => looking.abort());
    const graph = (): GraphSnapshot | undefined => events.findLast(({ event }) => event === "graph")?.data;
    const edge = (from: string, to: string): GraphEdge | undefined =>
      graph()?.edges.find((each) => each.from.includes(from) && each.to.includes(to));
    const split = () =>
      (edge("front", "|v2")?.rps ?? 0) / ((edge("front", "|v1")?.rps ?? 0) + (edge("front", "|v2")?.rps ?? 0));

    test("is linked before anything else is printed, and mesh console prints the link again", async () => {
      expect(mesh.output()).toMatch(/^Console: http:\/\/127\.0\.0\.1:\d+\/\?token=\S+\n\nisolation: /m);
      const { stdout } = await mesh.cli("console");
      expect(mesh.output()).toContain(`Console: ${stdout.trim()}\n`);
    });

    test("shows who calls whom, how often and under mutual TLS, from Envoys' own counters", async () => {
      await until("every call of the shop is an edge with figures", () =>
        [edge("load", "front"), edge("front", "|v1"), edge("front", "stock"), edge("front", "prices")].every(
          (each) => (each?.rps ?? 0) > 0 && each?.mtlsShare === 1 && each.p50Ms !== undefined,
        ),
      );
      // The front asks each of them once for every page. On a busy machine a look may come too late for one snapshot.
      await until("a complete snapshot", () => {
        const [pages = 0, stock = 0] = [edge("load", "front")?.rps, edge("front", "stock")?.rps];
        expect(stock / pages).toBeGreaterThan(0.5);
        expect(stock / pages).toBeLessThan(2);
        expect(graph()?.stale).toEqual([]);
      });
    });

    test("has of a workload what its agent and its Envoy know", async () => {
      const look = async () => (await client.get("/api/workloads/front")).body;
      await expect.poll(look).toMatchObject({ ready: true, missing: {} });
      const body = await look();
      expect(body).toMatchObject({ envoyState: { state: "LIVE" }, restarts: [] });
      expect(body.certificates).toMatchObject({ phase: "available", errors: [] });
      expect(body.certificates.chain[0].names).toEqual(["spiffe://cluster.local/ns/shop/sa/front"]);
      expect(body.xds).toMatchObject({ connected: true });
      expect(body.xds.types).toContainEqual(expect.objectContaining({ type: "CDS", state: "acked" }));
      const stock = body.clusters.find(({ name }: { name: string }) => name.startsWith("outbound|8480||stock"));
      expect(stock.endpoints).toMatchObject([{ isHealthy: true, health: "healthy" }]);
      expect(JSON.stringify(body)).not.toContain("PRIVATE KEY");
    });

    test("shows single requests while somebody looks", async () => {
      const watching = new AbortController();
      const seen = await client.follow("/api/requests?workload=front&direction=outbound&to=stock", watching.signal);
      await until("a request to the stock is shown", () => seen.some(({ data }) => data.requests.length > 0));
      watching.abort();
      const [line] = seen.flatMap(({ data }) => data.requests);
      expect(line).toMatchObject({
        workload: "front",
        service: "stock",
        method: "GET",
        path: "/",
        status: 200,
        flags: "",
      });
      expect(line.caller).toBe("spiffe://cluster.local/ns/shop/sa/front");
    });

    test("shifts requests, shows the measured split, and undoes it", async () => {
      const action = { kind: "shift", service: "catalogue", weights: { v1: 50, v2: 50 } };
      const applied = await client.post("/api/actions", { action, expiresInMs: 600_000 });
      expect(applied).toMatchObject({ status: 201 });
      const { body } = applied;
      expect(body).toMatchObject({ state: "active", changes: [{ kind: "VirtualService", name: "catalogue" }] });
      await until("about half of them go to version 2", () => split() > 0.25 && split() < 0.75);
      expect(edge("front", "|v2")?.weight).toBe(50);
      await client.post(`/api/actions/${body.id}/undo`, {});
      await until("all go to version 1", () => edge("front", "|v1") !== undefined && split() === 0);
    });

    test("shows what a fault rule does, and an Envoy that was killed", async () => {
      const { body } = await client.post("/api/actions", {
        action: { kind: "abort", service: "stock", status: 503, percent: 100 },
      });
      await until("the edge has errors", () => (edge("front", "stock")?.errorShare ?? 0) > 0.5);
      expect(edge("front", "stock")?.faultShare).toBeGreaterThan(0.5);
      await client.post(`/api/actions/${body.id}/undo`, {});
      await until("and none afterwards", () => edge("front", "stock")?.errorShare === 0);
      await client.post("/api/actions", { action: { kind: "kill-envoy", workload: "prices" } });
      await until("it is back, and counted", async () => {
        const { body: prices } = await client.get("/api/workloads/prices");
        return prices.ready && prices.restarts[0]?.part === "envoy" && prices.restarts[0].reason === "signal: killed";
      });
    });
  });

  test("the printed links lead to Envoy's admin pages and the control plane's debug pages", async () => {
    const { workloads, controlPlane } = await mesh.status();
    const front = workloads.find(({ name }) => name === "front")?.admin ?? "";
    expect(mesh.output()).toContain(`${front}/`);
    expect((await fetchAnswer(`${front}/server_info`)).body).toContain('"state": "LIVE"');
    expect(mesh.output()).toContain(controlPlane.debug);
    expect(await fetchAnswer(`${controlPlane.debug}/syncz`)).toMatchObject({
      status: 200,
      body: expect.stringContaining("front.shop"),
    });
  });

  test("Envoys look at their own threads every second, not ten times a second: a laptop runs a dozen of them", async () => {
    const { workloads } = await mesh.status();
    const front = workloads.find(({ name }) => name === "front")?.admin ?? "";
    const { configs } = JSON.parse((await fetchAnswer(`${front}/config_dump?mask=bootstrap.watchdogs`)).body);
    const seldom = { miss_timeout: "2s", megamiss_timeout: "10s" };
    expect(configs).toContainEqual(
      expect.objectContaining({
        bootstrap: { watchdogs: { main_thread_watchdog: seldom, worker_watchdog: seldom } },
      }),
    );
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
    // No wait: what is applied is in force.
    const seen = await versions(url, 500);
    // Five standard deviations of 500 draws at one in five.
    expect(Math.abs((seen.v2 ?? 0) - 100)).toBeLessThan(45);
    expect((seen.v1 ?? 0) + (seen.v2 ?? 0)).toBe(500);
    expect(await mesh.cli("apply", "--delete", "-f", split)).toMatchObject({ code: 0 });
    expect(await versions(url, 50)).toEqual({ v1: 50 });
  });

  test("an object that Envoys refuse is reported with who and Envoy's reason, and taking it back is accepted", async () => {
    const path = mesh.write(
      "refused.yaml",
      `apiVersion: networking.istio.io/v1alpha3
kind: EnvoyFilter
metadata: {name: refused, namespace: shop}
spec:
  workloadSelector: {labels: {app: stock}}
  configPatches:
    - applyTo: CLUSTER
      patch: {operation: ADD, value: {name: broken, type: STRICT_DNS, connect_timeout: 1s, lb_policy: RING_HASH,
        ring_hash_lb_config: {minimum_ring_size: 1024, maximum_ring_size: 2}}}
`,
    );
    const { code, stdout, stderr } = await mesh.cli("apply", "-f", path);
    expect(stdout).toBe("EnvoyFilter shop/refused applied\n");
    expect(stderr).toMatch(/^error: stock refuses it and goes on as before: Cluster: .*ring/m);
    expect(stderr).not.toContain("front refuses");
    expect(code).toBe(1);
    const taken = await mesh.cli("apply", "--delete", "-f", path);
    expect([taken.code, complaints(taken)]).toEqual([0, []]);
  });

  test("get, describe and delete know what was applied and what stands in the file", async () => {
    const split = `${mesh.stateFolder}/try/split-80-20.yaml`;
    await mesh.cli("apply", "-f", split);
    expect((await mesh.cli("get", "vs")).stdout).toMatch(/^VirtualService +shop +catalogue +applied$/m);
    const { stdout } = await mesh.cli("describe", "virtualservice", "catalogue");
    expect(stdout).toMatch(/^VirtualService shop\/catalogue, from applied\n\n[\s\S]*weight: 80/);
    const deleted = await mesh.cli("delete", "virtualservices", "catalogue");
    expect(deleted).toMatchObject({ code: 0, stdout: "VirtualService shop/catalogue taken back\n" });
    expect(complaints(deleted)).toEqual([]);
    expect(await versions(url, 20)).toEqual({ v1: 20 });
    expect((await mesh.cli("delete", "vs", "catalogue")).stderr).toBe(
      "Error: VirtualService shop/catalogue stands in demo; remove it there\n",
    );
    expect(await mesh.cli("get", "virtualservce")).toMatchObject({
      code: 2,
      stderr: "Error: kind virtualservce is not known; did you mean VirtualService?\n",
    });
  });

  test("proxy-status and proxy-config have istioctl's columns and Envoy's own configuration", async () => {
    const status = await mesh.cli("proxy-status");
    expect(status).toMatchObject({ code: 0, stderr: "" });
    expect(status.stdout).toMatch(/^NAME +CLUSTER +CDS +LDS +EDS +RDS +ECDS +VERSION$/m);
    expect(status.stdout).toMatch(
      /^front\.shop +Kubernetes +SYNCED +SYNCED +SYNCED +(SYNCED|NOT SENT) +NOT SENT +1\./m,
    );
    const config = async (what: string) => (await mesh.cli("proxy-config", what, "front")).stdout;
    expect(await config("clusters")).toMatch(
      /^catalogue\.shop\.svc\.cluster\.local +8480 +v1 +outbound +EDS +catalogue\.shop$/m,
    );
    expect(await config("listeners")).toMatch(/^\S+ +8480 +.*(Route|Cluster): /m);
    expect(await config("routes")).toMatch(/^NAME +VHOST NAME +DOMAINS +MATCH +VIRTUAL SERVICE$/m);
    expect(await config("routes")).toMatch(
      /^\S+ +catalogue\.shop\.svc\.cluster\.local:8480 .* \/\* +catalogue\.shop$/m,
    );
    expect(await config("endpoints")).toMatch(/^\S+:8480 +HEALTHY +OK +outbound\|8480\|v1\|catalogue/m);
    expect(await config("secrets")).toMatch(/^default +Cert Chain +ACTIVE +true +[0-9a-f]+ +20\S+Z +20\S+Z$/m);
    expect((await mesh.cli("proxy-config", "clusters", "frnt")).stderr).toContain(
      "there is no workload frnt; there are front",
    );
    expect((await mesh.cli("proxy-config", "wasm", "front")).stderr).toContain("there are clusters, listeners, routes");
  });

  test("an entry is on localhost, too, where its port is free", async () => {
    const { localEntries } = await mesh.status();
    // Another test's mesh may have the port.
    if (localEntries.front === undefined) return;
    expect(localEntries.front).toBe("http://localhost:8480");
    expect((await page("http://127.0.0.1:8480/")).catalogue.version).toBe("v1");
  });

  test("nothing is applied while the control plane is away", async () => {
    const split = `${mesh.stateFolder}/try/split-80-20.yaml`;
    await mesh.cli("stop", "control-plane");
    const { code, stdout, stderr } = await mesh.cli("apply", "-f", split);
    await mesh.cli("start", "control-plane");
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: "",
      stderr: "Error: the control plane is away, nothing was changed: stopped\n",
    });
    await until(async () => (await mesh.status()).controlPlane.ready || "not back");
    expect(await versions(url, 20)).toEqual({ v1: 20 });
  });

  test("the fault to try, applied while proxies come back to the control plane, makes half of the calls fail", async () => {
    const fault = `${mesh.stateFolder}/try/fault.yaml`;
    const applied = await mesh.cli("apply", "-f", fault);
    expect([applied.code, complaints(applied)]).toEqual([0, []]);
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
    const said = async (text: string) => (await mesh.cli("apply", "-f", mesh.write("bad.yaml", text))).stderr;
    const object = (kind: string, spec: string) =>
      `apiVersion: networking.istio.io/v1\nkind: ${kind}\nmetadata: {name: stock}\nspec: ${spec}\n`;
    expect(await said(object("VirtualServce", "{}"))).toMatch(
      /bad\.yaml:1: kind VirtualServce is not known; did you mean VirtualService\?[\s\S]*bad\.yaml holds no Istio object\n$/,
    );
    // Once, and not as a warning too.
    const shadow = await said(
      object(
        "ServiceEntry",
        "{hosts: [a.example], ports: [{number: 80, name: http, protocol: HTTP}], resolution: DNS}",
      ),
    );
    expect(shadow).toBe(
      `Error: ${mesh.folder}/bad.yaml:3:1: it would take the place of the service stock of the mesh file; rename it (ServiceEntry shop/stock)\n`,
    );
  });

  test("exec runs where the workload runs: its addresses reach the services", async () => {
    const script = 'curl -s -m 30 "$CATALOGUE_URL/"; echo; echo $MESH_WORKLOAD; exit 7';
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
    if (part === "envoy") {
      await until(
        () => mesh.output().includes("catalogue-v1/envoy: signal: killed; its agent starts it again") || "not told",
      );
      expect((await catalogue())?.envoyRestarts).toBe(1);
    } else expect(mesh.output()).toContain(`catalogue-v1/${part}: ended by SIGKILL; starting it again in 0.1 s\n`);
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

  test("status -w prints the table again when something has changed, until Ctrl-C", async () => {
    const words = ["status", "-w", "--name", mesh.state().name, "--state-dir", `${mesh.folder}/state`];
    await using terminal = openTerminal([PROGRAM, "mesh", ...words]);
    const tables = () => terminal.output().split(/^(?=mesh )/m);
    const row = () =>
      terminal
        .output()
        .match(/^load +.*/gm)
        ?.at(-1)
        ?.trim() ?? "";
    await terminal.shows(/^load +yes [\s\S]*front: /m);
    const before = row();
    expect((await mesh.cli("restart", "load")).code).toBe(0);
    await until(() => (/^load +yes /.test(row()) && row() !== before ? undefined : terminal.output()));
    terminal.type("\u0003");
    expect(await terminal.exited).toBe(0);
    const shown = tables().map((table) => table.trim());
    expect(shown.length).toBeGreaterThan(1);
    expect(shown.filter((table, at) => table === shown[at - 1])).toEqual([]);
  });

  test("the same mesh cannot be started twice", async () => {
    const second = startMeshRun({ folder: mesh.folder, args: ["--isolation", isolation] });
    expect(await second.exited).toBe(1);
    expect(second.output()).toContain(`this mesh runs already, as process ${mesh.child.pid}`);
  });

  test("Ctrl-C ends it in order and leaves nothing on the machine", async () => {
    const state = mesh.state();
    expect((await leftovers(state)).length).toBeGreaterThan(0);
    const rules = await ownRules(state);
    expect(rules.map((rule) => /^-A (\S+)/.exec(rule)?.[1] ?? "route").sort()).toEqual(
      isolation === "namespaces" ? ["FORWARD", "FORWARD", "FORWARD", "POSTROUTING", "route"] : [],
    );
    mesh.child.kill("SIGINT");
    expect(await mesh.exited).toBe(0);
    expect(await leftovers(state)).toEqual([]);
    expect(await ownRules(state)).toEqual([]);
    expect((await mesh.cli("status")).stderr).toContain("no mesh runs in");
  });
});
