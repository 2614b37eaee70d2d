import { connect, createServer } from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import { ask } from "../../../test/support/dns/client.ts";
import { replyTo, startDnsUpstream } from "../../../test/support/dns/upstream.ts";
import { temporaryFolder } from "../../../test/support/files/temporary-folder.ts";
import { parseMeshFile } from "../core/parse-mesh-file.ts";
import { planMesh } from "../core/plan-mesh.ts";
import { closeListener, findFreePorts, listen, listenObstacle } from "../process/free-ports.ts";
import { checkAddresses } from "./check-addresses.ts";
import { chooseIsolation } from "./choose-isolation.ts";
import { claimSlot } from "./claim-slot.ts";
import { nameError, startNameServer } from "./start-name-server.ts";
import { startRelays } from "./start-relays.ts";
import { refusal } from "./user-namespace.ts";

function query(name: string, flags = 0x0100): Buffer {
  const labels = name.split(".").map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]));
  const header = Buffer.from([0x12, 0x34, flags >> 8, flags & 0xff, 0, 1, 0, 0, 0, 0, 0, 1]);
  const edns = Buffer.from([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]);
  return Buffer.concat([header, ...labels, Buffer.from([0, 0, 1, 0, 1]), edns]);
}

test("a name outside the mesh does not exist: same id and question, nothing behind it", () => {
  const asked = query("example.test");
  const answer = nameError(asked);
  expect(answer?.subarray(0, 12).toString("hex")).toBe("123481830001000000000000");
  expect(answer?.subarray(12)).toEqual(asked.subarray(12, asked.length - 11));
});

test("what is not a query gets no answer", () => {
  expect(nameError(query("a", 0x8180))).toBeUndefined();
  expect(nameError(Buffer.alloc(12))).toBeUndefined();
  expect(nameError(query("example.test").subarray(0, 20))).toBeUndefined();
});

test("any bytes give an answer or none", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => void nameError(Buffer.from(bytes))));
});

test("with egress names of the outside are asked at the machine's servers, over UDP and TCP; those of the mesh are not", async () => {
  await using upstream = await startDnsUpstream((query) => replyTo(query), "127.0.0.1");
  using folder = temporaryFolder({ files: { "resolv.conf": "nameserver 127.0.0.1\n" } });
  const [port = 0] = await findFreePorts(1, 59);
  const resolver = { resolvConfPath: folder.file("resolv.conf"), upstreamPort: upstream.port, port };
  const server = await startNameServer({ hostAddress: "127.0.0.1" }, true, resolver);
  try {
    const here = { host: "127.0.0.1", port };
    for (const transport of ["udp", "tcp"] as const) {
      expect(await ask(transport, here, { name: "files.example." })).toMatchObject({ rcode: 0 });
    }
    expect(await ask("udp", here, { name: "files.example.shop.svc.cluster.local." })).toMatchObject({ rcode: 3 });
    expect(upstream.queries.map(({ message }) => message.questions[0]?.name)).toEqual([
      "files.example.",
      "files.example.",
    ]);
  } finally {
    await server.stop();
  }
});

test("without root there are no namespaces, and whoever insists gets the reason", async () => {
  expect(await chooseIsolation("auto", false)).toEqual({
    isolation: "none",
    why: "running without root; --isolation namespaces captures traffic, where the kernel gives users namespaces",
  });
  expect(await chooseIsolation("none", true)).toMatchObject({ isolation: "none" });
  await expect(chooseIsolation("namespaces", false)).rejects.toThrow(
    "is not possible here: network namespaces need root",
  );
});

test("a program that namespaces need and that is missing is named with its package", async () => {
  const { PATH = "" } = process.env;
  process.env.PATH = "/nowhere";
  try {
    const why = "ip is missing (install iproute2)";
    expect(await chooseIsolation("auto", true)).toEqual({ isolation: "none", why });
    await expect(chooseIsolation("namespaces", true)).rejects.toThrow(`is not possible here: ${why}`);
  } finally {
    process.env.PATH = PATH;
  }
});

test("two meshes of one name get two slots, and a released one is given again", async () => {
  const first = await claimSlot(`twins-${process.pid}`, "none");
  const second = await claimSlot(`twins-${process.pid}`, "none");
  expect(second.slot).not.toBe(first.slot);
  await first.release();
  const third = await claimSlot(`twins-${process.pid}`, "none");
  expect(third.slot).toBe(first.slot);
  await Promise.all([second.release(), third.release()]);
});

test("someone who has connected to a slot's claim does not keep it from being released", async () => {
  const claim = await claimSlot(`visited-${process.pid}`, "none");
  const visitor = connect(15_999, `127.${64 + claim.slot}.255.254`);
  visitor.on("error", () => undefined);
  await new Promise((connected) => visitor.once("connect", connected));
  const left = new Promise((closed) => visitor.once("close", closed));
  await claim.release();
  await left;
});

test("free ports are free, and no two are equal", async () => {
  const ports = await findFreePorts(400, 58);
  expect(new Set(ports).size).toBe(400);
  // The range of a slot comes first; where it is too small, others help out.
  expect(ports.filter((port) => port >= 31_428 && port < 31_694).length).toBeGreaterThan(200);
  const server = createServer().listen(ports[0], "127.0.0.1");
  await new Promise((ready) => server.once("listening", ready));
  expect(await listenObstacle(ports[0] ?? 0)).toBe("EADDRINUSE");
  await new Promise((closed) => server.close(closed));
});

test("ports that are promised to someone are not given again, also while no one listens", async () => {
  const [first = 0, second = 0] = await findFreePorts(2, 57);
  expect(await findFreePorts(1, 57, new Set([first]))).toEqual([second]);
});

function planOf(port: number) {
  const parsed = parseMeshFile(`services: {web: {port: ${port}, command: x}, shop: {command: y}}`);
  if ("problems" in parsed) throw new Error("invalid");
  return planMesh(parsed.file, {
    isolation: "none",
    slot: 59,
    ports: Array.from({ length: 18 }, (_, index) => 20_000 + index),
  });
}

test("a taken service port is reported with its address and its workload", async () => {
  const [port = 0] = await findFreePorts(1, 58);
  await expect(checkAddresses(planOf(port))).resolves.toBeUndefined();
  const server = createServer().listen(port);
  await new Promise((ready) => server.once("listening", ready));
  // What the mesh has already it has taken itself.
  await expect(checkAddresses(planOf(port), planOf(port))).resolves.toBeUndefined();
  await expect(checkAddresses(planOf(port), planOf(port + 1))).rejects.toThrow(`port ${port} cannot be used`);
  await expect(checkAddresses(planOf(port))).rejects.toThrow(
    `port ${port} cannot be used: 127.123.0.1:${port} for workload web: another process listens there or on all addresses; end it, or give the service another port (and 1 more addresses)`,
  );
  await new Promise((closed) => server.close(closed));
});

test("a relay passes bytes on both ways and ends with its owner", async () => {
  const echo = createServer((socket) => socket.pipe(socket)).listen(0, "127.0.0.1");
  await new Promise((ready) => echo.once("listening", ready));
  const address = echo.address();
  const target = typeof address === "object" && address !== null ? address.port : 0;
  const [port = 0] = await findFreePorts(1, 58);
  const plan = planOf(8080);
  const [web] = plan.services;
  if (web === undefined) throw new Error("no service");
  const relayed = { ...web, endpoints: [relayedEndpoint(port, target)] };
  const relays = await startRelays({ ...plan, services: [relayed] });
  const client = connect(port, "127.0.0.1");
  client.write("hello");
  expect(String(await new Promise((got) => client.once("data", got)))).toBe("hello");
  // Another plan with the same relay leaves its connections alone; one without closes them.
  await relays.follow({ ...plan, services: [web, relayed] });
  client.write("again");
  expect(String(await new Promise((got) => client.once("data", got)))).toBe("again");
  const closed = new Promise((done) => client.once("close", done));
  await relays.follow({ ...plan, services: [web] });
  await closed;
  expect(await listenObstacle(port, "127.0.0.1")).toBeUndefined();
  await relays.follow({ ...plan, services: [relayed] });
  expect(await listenObstacle(port, "127.0.0.1")).toBe("EADDRINUSE");
  await relays.stop();
  expect(await listenObstacle(port, "127.0.0.1")).toBeUndefined();
  await new Promise((done) => echo.close(done));
});

function relayedEndpoint(port: number, target: number) {
  const [listen, to] = [port, target].map((each) => ({ host: "127.0.0.1", port: each }));
  if (listen === undefined || to === undefined) throw new Error("no ports");
  return { host: "127.0.0.1", ports: { http: port }, labels: {}, relays: [{ listen, to }] };
}

test("where one relay cannot listen, those that could are closed again or known", async () => {
  const [taken = 0, free = 0] = await findFreePorts(2, 56);
  const squatter = createServer().listen(taken, "127.0.0.1");
  await new Promise((ready) => squatter.once("listening", ready));
  const plan = planOf(8080);
  const [web] = plan.services;
  if (web === undefined) throw new Error("no service");
  const relayed = (port: number) => ({ ...web, endpoints: [relayedEndpoint(port, 9)] });
  const both = { ...plan, services: [relayed(free), relayed(taken)] };
  await expect(startRelays(both)).rejects.toThrow("EADDRINUSE");
  expect(await listenObstacle(free, "127.0.0.1")).toBeUndefined();
  const relays = await startRelays({ ...plan, services: [] });
  await expect(relays.follow(both)).rejects.toThrow("EADDRINUSE");
  await relays.stop();
  expect(await listenObstacle(free, "127.0.0.1")).toBeUndefined();
  await new Promise((closed) => squatter.close(closed));
});

test("a listener outlives connections that it could not accept", async () => {
  const server = await listen(0, "127.0.0.1");
  const failure = Object.assign(new Error("accept EMFILE"), { code: "EMFILE" });
  for (let times = 0; times < 3; times += 1) server.emit("error", failure);
  await closeListener(server);
});

test.each([
  { set: "kernel.unprivileged_userns_clone=0", says: "sysctl kernel.unprivileged_userns_clone=1" },
  {
    set: "kernel.apparmor_restrict_unprivileged_userns=1",
    says: "sysctl kernel.apparmor_restrict_unprivileged_userns=0",
  },
  { set: "user.max_user_namespaces=0", says: "sysctl user.max_user_namespaces=15000" },
  { set: "user.max_user_namespaces=100", says: "as this kernel gives users none: unshare: Operation not permitted" },
])("where $set keeps users from having namespaces, the error is: $says", ({ set, says }) => {
  const [name, value] = set.split("=");
  const read = (asked: string) => (asked === name ? value : undefined);
  expect(refusal("unshare: Operation not permitted", read)).toContain(says);
});
