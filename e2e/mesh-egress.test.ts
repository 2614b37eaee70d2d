import type { ChildProcess } from "node:child_process";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type TemporaryFolder, temporaryFolder } from "../test/support/files/temporary-folder.ts";
import { complaints, execute, leftovers, type MeshRun, startMeshRun } from "../test/support/mesh/run.ts";
import { has, needs, type Requirement } from "../test/support/needs.ts";
import { createNetns, type Netns } from "../test/support/netns/netns.ts";
import { until } from "../test/support/wait/until.ts";

const REQUIRES: readonly Requirement[] = ["envoy", "netns", "iptables", "setpriv"];
const SERVER = "198.51.100.2";
const NAME = "files.example";

const file = (egress: string) => `egress: ${egress}
services:
  web: {command: exec sleep 100000}
`;

const ENTRY = `apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: files}
spec:
  hosts: [${NAME}]
  location: MESH_EXTERNAL
  resolution: STATIC
  ports: [{number: 8443, name: tls, protocol: TLS}]
  endpoints: [{address: ${SERVER}}]
`;

/** A server that the machine reaches and that knows nothing of meshes: another namespace with a cable to the machine. */
describe("egress from namespaces", () => {
  let folder: TemporaryFolder;
  let outside: Netns;
  let server: ChildProcess;
  const meshes: Partial<Record<"allowed" | "registry-only" | "none", MeshRun>> = {};
  const mesh = (egress: keyof typeof meshes): MeshRun => {
    const found = meshes[egress];
    if (found === undefined) throw new Error("not started");
    return found;
  };

  beforeAll(async () => {
    if (!REQUIRES.every(has)) return;
    folder = temporaryFolder({ isShared: true });
    const subject = ["-subj", `/CN=${NAME}`, "-addext", `subjectAltName=DNS:${NAME}`];
    const files = ["-keyout", folder.file("key.pem"), "-out", folder.file("cert.pem")];
    await execute(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", ...files, ...subject], folder.path);
    outside = await createNetns({ isBare: true });
    const cable = `pa-eg${process.pid % 100_000}`;
    const link = ["ip", "link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", outside.name];
    expect(await execute(link, "/")).toMatchObject({ code: 0, stderr: "" });
    await execute(["sh", "-c", `ip addr add 198.51.100.1/24 dev ${cable} && ip link set ${cable} up`], "/");
    await outside.script(["ip link set lo up", `ip addr add ${SERVER}/24 dev eth0`, "ip link set eth0 up"]);
    const serve = `const fs=require("fs");require("https").createServer({cert:fs.readFileSync("${folder.file("cert.pem")}"),key:fs.readFileSync("${folder.file("key.pem")}")},(q,a)=>a.end("from "+q.socket.remoteAddress)).listen(8443)`;
    server = outside.spawn("node", ["-e", serve]);
    for (const egress of ["allowed", "registry-only", "none"] as const) {
      meshes[egress] = startMeshRun({ file: file(egress), args: ["--isolation", "namespaces"] });
    }
    await Promise.all(Object.values(meshes).map((each) => each.untilUp()));
  }, 120_000);
  afterAll(async () => {
    if (!REQUIRES.every(has)) return;
    const states = Object.values(meshes).map((each) => each.state());
    await Promise.all(Object.values(meshes).map((each) => each[Symbol.asyncDispose]()));
    const ended = new Promise((done) => server.once("exit", done));
    server.kill("SIGKILL");
    await ended;
    await outside[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
    for (const state of states) expect(await leftovers(state)).toEqual([]);
  });
  beforeEach(needs(...REQUIRES));

  const curl = (run: MeshRun, url: string) =>
    run.cli("exec", "web", "--", "curl", "-s", "-m", "30", "--cacert", folder.file("cert.pem"), url);
  const reached = (run: MeshRun) =>
    until(async () => {
      const { code, stdout } = await curl(run, `https://${NAME}:8443/`);
      return stdout === "from ::ffff:198.51.100.1" || `curl ends with ${code}: ${stdout}`;
    });

  test("with the default the machine's network is reached, under the machine's address", async () => {
    const plain = await mesh("allowed").cli("exec", "web", "--", "curl", "-sk", "-m", "30", `https://${SERVER}:8443/`);
    expect(plain.stdout).toBe("from ::ffff:198.51.100.1");
  });

  test("a host of a ServiceEntry is reached by its own name with TLS", async () => {
    const path = mesh("allowed").write("entry.yaml", ENTRY);
    const applied = await mesh("allowed").cli("apply", "-f", path);
    expect([applied.code, complaints(applied)]).toEqual([0, []]);
    await reached(mesh("allowed"));
  });

  test("with registry-only nothing but hosts of ServiceEntries is reached", async () => {
    const run = mesh("registry-only");
    const direct = await run.cli("exec", "web", "--", "curl", "-sk", "-m", "5", `https://${SERVER}:8443/`);
    expect(direct.code).not.toBe(0);
    const path = run.write("entry.yaml", ENTRY);
    expect(await run.cli("apply", "-f", path)).toMatchObject({ code: 0 });
    await reached(run);
  });

  test("with none nothing is reached, and no rule of the packet filter is made", async () => {
    const run = mesh("none");
    const direct = await run.cli("exec", "web", "--", "curl", "-sk", "-m", "2", `https://${SERVER}:8443/`);
    expect(direct.code).not.toBe(0);
    const { stdout } = await execute(["iptables-save"], "/");
    expect(stdout).not.toContain(`pilot-agent-mesh ${run.state().interfaces[0]}"`);
  });

  test("meshes do not reach each other", async () => {
    const [workload] = mesh("registry-only").state().plan?.workloads ?? [];
    const { code } = await mesh("allowed").cli(
      "exec",
      "web",
      "--",
      "curl",
      "-sf",
      "-m",
      "3",
      `http://${workload?.address}:15020/healthz/ready`,
    );
    expect(code).not.toBe(0);
  });
});
