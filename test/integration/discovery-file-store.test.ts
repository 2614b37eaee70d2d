import { chmod, mkdir, mkdtemp, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { silentLogger } from "../../src/base/logger.ts";
import { type FileStore, type FileStoreOptions, startFileStore } from "../../src/discovery/stores/start-file-store.ts";
import type { ConfigChange } from "../../src/mesh-model/config-store.ts";
import { serviceEntry, workloadEntry } from "../support/discovery/objects.ts";
import { until } from "../support/wait/until.ts";

let dir: string;
let store: FileStore | undefined;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "rules-"));
});
afterEach(async () => {
  await store?.stop();
  store = undefined;
  await rm(dir, { recursive: true, force: true });
});

const at = (...parts: string[]) => join(dir, ...parts);
const document = (name: string, address = "10.0.0.1") => JSON.stringify(workloadEntry(name, { address }));

async function start(options: Partial<FileStoreOptions> = {}): Promise<FileStore> {
  store = await startFileStore({ dir, log: silentLogger, quietMs: 10, ...options });
  return store;
}

const addressOf = (name: string) => store?.snapshot.get("WorkloadEntry", "prod", name)?.spec.address;
const problems = () =>
  store?.snapshot.problems.map(({ file, line, message }) => `${file.slice(dir.length + 1)}:${line}: ${message}`);

test("every YAML file of the tree is read at start, others and hidden ones are not", async () => {
  await mkdir(at("sub", "deep"), { recursive: true });
  await mkdir(at(".git"));
  await writeFile(at("a.yaml"), `${document("a")}\n---\n${document("b")}`);
  await writeFile(at("sub", "deep", "c.yml"), document("c"));
  for (const other of ["d.json", "e.yaml.swp", ".f.yaml", join(".git", "g.yaml")])
    await writeFile(at(other), document("no"));
  const { snapshot } = await start();
  expect(snapshot.list("WorkloadEntry").map(({ name }) => name)).toEqual(["a", "b", "c"]);
  expect(snapshot.problems).toEqual([]);
});

test("a missing directory fails the start with a reason", async () => {
  await expect(startFileStore({ dir: at("nowhere"), log: silentLogger })).rejects.toMatchObject({
    code: "directory-unreadable",
    message: expect.stringContaining(`config directory ${at("nowhere")} cannot be read: ENOENT`),
  });
});

test("bad documents at start are listed with file, line and reason, and the rest is there", async () => {
  await writeFile(at("a.yaml"), `${document("a")}\n---\n"open\n---\n${document("b", "b_d")}\n---\n${document("c")}`);
  const lines: string[] = [];
  const log = {
    ...silentLogger,
    error: (message: string, fields?: object) => void lines.push(`${message} ${JSON.stringify(fields)}`),
  };
  await start({ log });
  expect(addressOf("a")).toBe("10.0.0.1");
  expect(addressOf("c")).toBe("10.0.0.1");
  expect(problems()).toEqual([
    expect.stringMatching(/^a\.yaml:3: YAML: Missing closing "quote/),
    'a.yaml:5: endpoint address "b_d" is not a valid FQDN or an IP address',
  ]);
  expect(lines).toHaveLength(2);
  expect(lines[1]).toContain(`"file":"${at("a.yaml")}","line":5,"field":"spec.address"`);
});

test("a write in place, a rename over the file, a new directory and a deletion are all seen", async () => {
  await writeFile(at("a.yaml"), document("a"));
  await start();
  await writeFile(at("a.yaml"), document("a", "10.0.0.2"));
  await until(() => expect(addressOf("a")).toBe("10.0.0.2"));
  await writeFile(at(".a.yaml.tmp"), document("a", "10.0.0.3"));
  await rename(at(".a.yaml.tmp"), at("a.yaml"));
  await until(() => expect(addressOf("a")).toBe("10.0.0.3"));
  await mkdir(at("new"));
  await writeFile(at("new", "b.yaml"), document("b"));
  await until(() => expect(addressOf("b")).toBe("10.0.0.1"));
  await writeFile(at("new", "b.yaml"), document("b", "10.0.0.2"));
  await until(() => expect(addressOf("b")).toBe("10.0.0.2"));
  await rm(at("new"), { recursive: true });
  await until(() => expect(addressOf("b")).toBeUndefined());
  expect(addressOf("a")).toBe("10.0.0.3");
});

test("the swap of a Kubernetes volume is one change", async () => {
  const version = async (name: string, address: string) => {
    await mkdir(at(name));
    await writeFile(at(name, "a.yaml"), document("a", address));
    await writeFile(at(name, "b.yaml"), document("b", address));
  };
  await version("..v1", "10.0.0.1");
  await symlink("..v1", at("..data"));
  for (const file of ["a.yaml", "b.yaml"]) await symlink(join("..data", file), at(file));
  const { subscribe } = await start();
  const seen: ConfigChange[] = [];
  subscribe((change) => seen.push(change));
  await version("..v2", "10.0.0.2");
  await symlink("..v2", at("..data_tmp"));
  await rename(at("..data_tmp"), at("..data"));
  await rm(at("..v1"), { recursive: true });
  await until(() => expect(seen).toHaveLength(1));
  expect(seen[0]?.changes.map(({ name, change }) => `${name} ${change}`)).toEqual(["a updated", "b updated"]);
  expect([addressOf("a"), addressOf("b")]).toEqual(["10.0.0.2", "10.0.0.2"]);
});

test("a file cut off in the middle of a document keeps its objects until it is whole again", async () => {
  const whole = `${document("a")}\n---\n${document("b")}`;
  await writeFile(at("a.yaml"), whole);
  const { subscribe } = await start();
  const changes: string[] = [];
  subscribe((change) => changes.push(...change.changes.map(({ name }) => name)));
  await writeFile(at("a.yaml"), whole.slice(0, -20));
  await until(() => expect(problems()).toHaveLength(1));
  expect([addressOf("a"), addressOf("b")]).toEqual(["10.0.0.1", "10.0.0.1"]);
  await writeFile(at("a.yaml"), whole);
  await until(() => expect(problems()).toEqual([]));
  expect(changes).toEqual([]);
});

test("an object that is known to be gone goes even while another document of its file is bad", async () => {
  await writeFile(at("a.yaml"), [document("a"), document("b"), document("c")].join("\n---\n"));
  await start();
  await writeFile(at("a.yaml"), [document("a", "x_y"), document("c")].join("\n---\n"));
  await until(() => expect(addressOf("b")).toBeUndefined());
  expect([addressOf("a"), addressOf("c")]).toEqual(["10.0.0.1", "10.0.0.1"]);
});

test("an object in two files is taken from the first, and the second is reported", async () => {
  await writeFile(at("a.yaml"), document("a", "10.0.0.1"));
  await writeFile(at("b.yaml"), document("a", "10.0.0.2"));
  await start();
  expect(addressOf("a")).toBe("10.0.0.1");
  expect(problems()).toEqual([`b.yaml:1: WorkloadEntry prod/a is also in ${at("a.yaml")}, which is used`]);
  await rm(at("a.yaml"));
  await until(() => expect(addressOf("a")).toBe("10.0.0.2"));
  expect(problems()).toEqual([]);
});

test("a file replaced by a directory of its name is a deletion, and the directory is read", async () => {
  await writeFile(at("a.yaml"), document("a"));
  await start();
  await rm(at("a.yaml"));
  await mkdir(at("a.yaml"));
  await writeFile(at("a.yaml", "b.yaml"), document("b"));
  await until(() => expect([addressOf("a"), addressOf("b")]).toEqual([undefined, "10.0.0.1"]));
});

test("a link in a loop and a link to nowhere are reported or passed over, and the rest is read", async () => {
  await symlink("loop.yaml", at("loop.yaml"));
  await symlink("nowhere", at("gone.yaml"));
  await symlink(".", at("self"));
  await writeFile(at("a.yaml"), document("a"));
  await start();
  expect(addressOf("a")).toBe("10.0.0.1");
  expect(problems()).toEqual([expect.stringMatching(/^loop\.yaml:1: ELOOP/)]);
});

test("a file that cannot be read any more is reported, and its objects stay as they were", async () => {
  await writeFile(at("a.yaml"), document("a"));
  await writeFile(at("big.yaml"), document("b"));
  await start();
  // In one step: what there is of a file that is being written would be read, and a parser needs long for so much.
  await writeFile(at("next"), Buffer.alloc(33 * 1024 * 1024, 0x20));
  await rename(at("next"), at("big.yaml"));
  await until(() => expect(problems()).toEqual([`big.yaml:1: read ${at("big.yaml")}: larger than 33554432 bytes`]));
  expect([addressOf("a"), addressOf("b")]).toEqual(["10.0.0.1", "10.0.0.1"]);
});

test("a directory that goes away leaves its last state in force until it is back", async () => {
  await mkdir(at("conf"));
  await writeFile(at("conf", "a.yaml"), document("a"));
  await start({ dir: at("conf"), rescanMs: 50 });
  await rename(at("conf"), at("away"));
  await until(() =>
    expect(problems()).toEqual([expect.stringContaining("directory cannot be read, its last state stays")]),
  );
  expect(addressOf("a")).toBe("10.0.0.1");
  await mkdir(at("conf"));
  await writeFile(at("conf", "a.yaml"), document("a", "10.0.0.2"));
  await until(() => expect(addressOf("a")).toBe("10.0.0.2"));
  expect(problems()).toEqual([]);
});

test("a directory that goes away while its files are read deletes nothing", async () => {
  await mkdir(at("conf"));
  for (let index = 0; index < 200; index += 1) await writeFile(at("conf", `${index}.yaml`), document(`a${index}`));
  const { subscribe } = await start({ dir: at("conf"), quietMs: 1, maxWaitMs: 1, rescanMs: 60_000 });
  const deleted: string[] = [];
  subscribe(({ changes }) =>
    deleted.push(...changes.flatMap(({ change, name }) => (change === "deleted" ? [name] : []))),
  );
  // In one step: a file that is being written may be read while it is empty.
  const replace = async (name: string, text: string) => {
    await writeFile(at("next"), text);
    await rename(at("next"), at("conf", name));
  };
  // Each time at another moment of the reading.
  for (let steps = 0; steps < 30; steps += 1) {
    const seen = store?.snapshot.version ?? 0;
    await replace("0.yaml", document("a0", `10.0.0.${steps + 2}`));
    for (let step = 0; step < steps * 4; step += 1) await new Promise((resolve) => setImmediate(resolve));
    await rename(at("conf"), at("away"));
    await until(() => expect(store?.snapshot.version).toBeGreaterThan(seen));
    await rename(at("away"), at("conf"));
    await replace("1.yaml", document("a1", `10.0.0.${steps + 2}`));
    await until(() => expect([addressOf("a1"), problems()]).toEqual([`10.0.0.${steps + 2}`, []]));
  }
  expect(deleted).toEqual([]);
});

test("a change behind a link to another place is found by the regular look", async () => {
  const elsewhere = await mkdtemp(join(tmpdir(), "elsewhere-"));
  try {
    await writeFile(join(elsewhere, "a"), document("a"));
    await symlink(join(elsewhere, "a"), at("a.yaml"));
    await start({ rescanMs: 50 });
    await writeFile(join(elsewhere, "a"), document("a", "10.0.0.2"));
    await until(() => expect(addressOf("a")).toBe("10.0.0.2"));
  } finally {
    await rm(elsewhere, { recursive: true });
  }
});

test("a file rewritten 100 times a second is read a few times, and its last content counts", async () => {
  await writeFile(at("a.yaml"), document("a"));
  const { subscribe } = await start({ quietMs: 50, maxWaitMs: 500 });
  const seen: ConfigChange[] = [];
  subscribe((change) => seen.push(change));
  const began = performance.now();
  for (let index = 1; index <= 100; index += 1) {
    await writeFile(at("a.yaml"), document("a", `10.0.1.${index}`));
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  // A busy machine may pause between two writes for longer than the quiet time, and each pause is one reading.
  const allowed = Math.ceil((performance.now() - began) / 50) + 1;
  await until(() => expect(addressOf("a")).toBe("10.0.1.100"));
  expect(seen.length).toBeLessThanOrEqual(allowed);
  // A write in place empties the file first; no one may see that, and a reading that meets it changes nothing.
  expect(seen.flatMap(({ changes }) => changes).filter(({ change }) => change !== "updated")).toEqual([]);
});

test("a file that is emptied and stays so loses its objects", async () => {
  await writeFile(at("a.yaml"), document("a"));
  await start({ rescanMs: 100 });
  await writeFile(at("a.yaml"), "");
  await until(() => expect(addressOf("a")).toBeUndefined());
});

test("touching files and rewriting them with the same text changes nothing, also not the age of objects", async () => {
  await writeFile(at("a.yaml"), document("a"));
  await utimes(at("a.yaml"), 1000, 1000);
  const { subscribe } = await start();
  const seen: string[] = [];
  subscribe(({ changes }) => seen.push(...changes.map(({ name }) => name)));
  expect(store?.snapshot.get("WorkloadEntry", "prod", "a")?.creationTime).toBe(1_000_000);
  await writeFile(at("a.yaml"), `# a comment\n${document("a")}`);
  await writeFile(at("b.yaml"), document("b"));
  await until(() => expect(seen).toEqual(["b"]));
  await writeFile(at("a.yaml"), document("a", "10.0.0.2"));
  await until(() => expect(seen).toEqual(["b", "a"]));
  expect(store?.snapshot.get("WorkloadEntry", "prod", "a")?.creationTime).toBe(1_000_000);
});

test("1,000 services are read at start, and one changed document is decoded alone", async () => {
  const texts = Array.from({ length: 1000 }, (_, index) => JSON.stringify(serviceEntry(`s${index}`)));
  await writeFile(at("all.yaml"), texts.join("\n---\n"));
  const { subscribe } = await start();
  expect(store?.snapshot.list("ServiceEntry")).toHaveLength(1000);
  const untouched = store?.snapshot.get("ServiceEntry", "prod", "s1");
  const seen: ConfigChange[] = [];
  subscribe((change) => seen.push(change));
  await writeFile(
    at("all.yaml"),
    [JSON.stringify(serviceEntry("s0", { endpoints: [] })), ...texts.slice(1)].join("\n---\n"),
  );
  await until(() => expect(seen.flatMap(({ changes }) => changes)).toHaveLength(1));
  expect(store?.snapshot.get("ServiceEntry", "prod", "s1")).toBe(untouched);
});

test("thousands of files are read together, and objects and problems are reported in the order of their paths", async () => {
  const COUNT = 4000;
  const files = Array.from({ length: COUNT }, (_, i) => join(`d${i % 40}`, `${String(i).padStart(4, "0")}.yaml`));
  for (let i = 0; i < 40; i += 1) await mkdir(at(`d${i}`));
  // Files of very different sizes end in another order than they began; each hundredth is bad, each hundredth after it a repetition.
  const textOf = (i: number) => {
    if (i % 100 === 7) return `kind: [ # ${i}`;
    const name = i % 100 === 57 ? "w0" : `w${i}`;
    return `# ${"fill".repeat((i * 7919) % 3000)}\n${document(name, `10.0.${i >> 8}.${i & 255}`)}`;
  };
  await Promise.all(files.map((file, i) => writeFile(at(file), textOf(i))));
  const { snapshot } = await start();
  expect(snapshot.all()).toHaveLength(COUNT - 2 * (COUNT / 100));
  expect(addressOf("w0")).toBe("10.0.0.0");
  const notices = snapshot.problems.map(({ file }) => file.slice(dir.length + 1));
  const wanted = files.filter((_, i) => i % 100 === 7 || i % 100 === 57);
  expect(notices).toEqual(wanted.sort());

  await Promise.all(files.slice(0, 500).map((file, i) => writeFile(at(file), document(`w${i}`, "10.9.9.9"))));
  await until(() => expect(addressOf("w499")).toBe("10.9.9.9"));
  await until(() => expect(problems()).toHaveLength(wanted.length - 10));
});

test("a store may be stopped twice and while it reads, and says nothing afterwards", async () => {
  await writeFile(at("a.yaml"), document("a"));
  const started = await start({ quietMs: 0 });
  const seen = vi.fn();
  started.subscribe(seen);
  await writeFile(at("a.yaml"), document("a", "10.0.0.2"));
  await Promise.all([started.stop(), started.stop()]);
  const calls = seen.mock.calls.length;
  await chmod(at("a.yaml"), 0o600);
  await writeFile(at("a.yaml"), document("a", "10.0.0.3"));
  const again = await startFileStore({ dir, log: silentLogger });
  await again.stop();
  expect(seen.mock.calls.length).toBe(calls);
});
