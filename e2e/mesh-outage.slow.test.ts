import { beforeEach, expect, test } from "vitest";
import { pairFile } from "../test/support/mesh/pair.ts";
import { type MeshRun, startMeshRun } from "../test/support/mesh/run.ts";
import { has, needs } from "../test/support/needs.ts";
import { fetchAnswer, fetchOk } from "../test/support/net/fetch-answer.ts";
import { freePorts } from "../test/support/net/free-ports.ts";
import { startLoad } from "../test/support/net/start-load.ts";
import { signalProcess } from "../test/support/process/signal-process.ts";
import { until } from "../test/support/wait/until.ts";

beforeEach(needs("envoy"));

const OUTAGE_MS = 60_000;

/** The pause leaves the cores to the meshes of the other tests. */
const startGreetingLoad = (url: string) =>
  startLoad(
    async () => {
      const body = await fetchOk(url);
      if (!body.startsWith("hello ")) throw new Error(body);
      return body;
    },
    { pauseMs: 20 },
  );

/** Either it is gone, or it is there and says nothing: the way it fails is not ours to choose. */
const OUTAGES = [
  {
    how: "stopped",
    begin: (mesh: MeshRun) => mesh.cli("stop", "control-plane"),
    end: (mesh: MeshRun) => mesh.cli("start", "control-plane"),
  },
  {
    how: "frozen",
    begin: (mesh: MeshRun) => signalControlPlane(mesh, "SIGSTOP"),
    end: (mesh: MeshRun) => signalControlPlane(mesh, "SIGCONT"),
  },
] as const;

async function signalControlPlane(mesh: MeshRun, signal: NodeJS.Signals): Promise<void> {
  signalProcess(mesh.state().processes["control-plane"]?.pid, signal);
}

const ISOLATIONS = has("netns") && has("iptables") ? (["none", "namespaces"] as const) : (["none"] as const);
const CASES = OUTAGES.flatMap((outage) => ISOLATIONS.map((isolation) => ({ ...outage, isolation })));

test.concurrent.each(CASES)(
  "a control plane $how for a minute costs no request, and Envoys killed meanwhile get their configuration from the agent ($isolation)",
  async ({ begin, end, isolation }) => {
    const [port = 0] = await freePorts(1);
    await using mesh = startMeshRun({ file: pairFile({ port }), args: ["--isolation", isolation] });
    await mesh.untilUp();
    const url = `${(await mesh.status()).entries.web}/`;
    await begin(mesh);
    // A machine that stands still makes the outage longer, which is as good.
    const endsAt = Date.now() + OUTAGE_MS;

    const before = startGreetingLoad(url);
    await until(() => (Date.now() > endsAt - OUTAGE_MS / 2 ? undefined : "first half"), OUTAGE_MS);
    await before.stop();
    expect(before.failures).toEqual([]);

    for (const workload of ["web", "hello"]) {
      const old = (await mesh.status()).workloads.find(({ name }) => name === workload)?.envoyPid;
      expect((await mesh.cli("kill", `${workload}/envoy`)).code).toBe(0);
      await until(async () => {
        const now = (await mesh.status()).workloads.find(({ name }) => name === workload);
        if (now?.ready !== true || now.envoyPid === undefined || now.envoyPid === old)
          return `not back: ${now?.reason}`;
        const answer = await fetchAnswer(url).catch(() => undefined);
        return answer?.status === 200 ? undefined : `answers ${answer?.status}`;
      });
    }

    const after = startGreetingLoad(url);
    // Envoys that take long to come back leave little of the second half.
    await until(() => (Date.now() > endsAt && after.requests > 100 ? undefined : "second half"), OUTAGE_MS);
    await end(mesh);
    await until(async () => ((await mesh.status()).controlPlane.ready ? undefined : "the control plane is not back"));
    await after.stop();
    expect(after.failures).toEqual([]);
  },
);
