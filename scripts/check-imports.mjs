// Who may import whom (docs/architecture.md). Prints each violation as file:line and exits 1 when there is one.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

/** Layers from the process edge down; an import goes to a lower layer or stays in its room. */
const LAYERS = [
  ["main", "index"],
  ["cli"],
  ["agent", "discovery", "mesh"],
  ["settings"],
  [
    "bootstrap",
    "envoy",
    "identity",
    "sds",
    "sts",
    "ca",
    "xds-proxy",
    "wasm",
    "dns",
    "status",
    "workload-health",
    "capture",
    "inject",
    "admission",
    "analyze",
    "simulate",
    "doctor",
    "grpc-metrics",
    "console",
    "platform",
    "kubernetes",
    "consul",
  ],
  ["envoy-config"],
  ["mesh-model"],
  ["istio-api"],
  ["xds", "grpc", "template"],
  ["protobuf", "protocol"],
  ["net", "files", "process"],
  ["base"],
];
/** Rooms of one layer that build on each other, from -> to. */
const NEIGHBOURS = new Set(["xds -> grpc", "mesh -> agent", "mesh -> discovery"]);
/** Libraries: imported file by file, because whoever needs one file must not load the room. Other rooms are entered by their index.ts. */
const LIBRARIES = new Set([
  "base",
  "net",
  "files",
  "process",
  "protocol",
  "protobuf",
  "xds",
  "istio-api",
  "mesh-model",
  "settings",
  "cli",
]);
/** Rooms without sockets, files, processes, timers and clock, like every core/ folder. */
const PURE_ROOMS = new Set(["istio-api", "mesh-model", "envoy-config", "analyze", "simulate"]);
const EFFECTS =
  /^(node:)?(fs|net|dgram|http|https|http2|tls|child_process|worker_threads|dns|os|process|timers|cluster)(\/|$)/;
/** Made on the floor only: HTTP, file watches, child processes. */
const FLOOR = new Set(["net", "files", "process"]);
const FLOOR_MODULES = /^node:(http|https|child_process)$/;
/** Files with a reason of their own to go around the floor; the file says which. */
const FLOOR_EXCEPTIONS = new Set([]);

const src = resolve(import.meta.dirname, "../src");
const layerOf = (room) => LAYERS.findIndex((layer) => layer.includes(room));
const roomOf = (file) => relative(src, file).split("/")[0].replace(/\.ts$/, "");
const name = (file) => relative(dirname(src), file);
const sources = (dir) =>
  readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) return entry.name === "gen" ? [] : sources(path);
    return entry.name.endsWith(".ts") ? [path] : [];
  });
const IMPURE = /\b(process\.|setTimeout\(|setInterval\(|Date\.now\(|new Date\(\)|Math\.random\()/;
const IMPORT = /(?:from|import)\s*\(?\s*"([^"]+)"/;

const violations = [];
const files = sources(src);
const isTest = (file) => file.endsWith(".test.ts");
const edges = new Map();
for (const file of files) {
  const room = roomOf(file);
  const isPure = !isTest(file) && (/\/core\//.test(file) || PURE_ROOMS.has(room));
  const report = (line, text) => violations.push(`${name(file)}:${line}: ${text}`);
  if (layerOf(room) === -1) report(1, `room ${room} has no layer; add it to scripts/check-imports.mjs`);
  const targets = [];
  readFileSync(file, "utf8")
    .split("\n")
    .forEach((text, index) => {
      const line = index + 1;
      if (isPure && IMPURE.test(text.replace(/\/\/.*|^\s*\*.*/, "")))
        report(line, "pure code gets clock, timers, randomness and process values as arguments");
      const target = IMPORT.exec(text)?.[1];
      if (target === undefined) return;
      if (isPure && EFFECTS.test(target)) report(line, `pure code may not import ${target}`);
      if (isTest(file)) return;
      const watches = target === "node:fs" && /\bwatch\b/.test(text);
      if ((FLOOR_MODULES.test(target) || watches) && !FLOOR.has(room) && !FLOOR_EXCEPTIONS.has(name(file)))
        report(line, `${watches ? "fs.watch" : target} is for net/, files/ and process/: use what they have`);
      if (target === "yaml" && !name(file).startsWith("src/files/yaml/"))
        report(
          line,
          "the package yaml is for files/yaml, which bounds what a document costs: use locateYaml or parseYaml",
        );
      if (!target.startsWith(".")) return;
      const path = resolve(dirname(file), target);
      targets.push(path);
      const targetRoom = roomOf(path);
      if (targetRoom === room) return;
      const [from, to] = [layerOf(room), layerOf(targetRoom)];
      if (to < from) report(line, `${room} may not import ${targetRoom}: arrows never turn back`);
      if (to === from && !NEIGHBOURS.has(`${room} -> ${targetRoom}`))
        report(
          line,
          `${room} may not import its sibling ${targetRoom}: declare an interface, the composition root connects`,
        );
      if (!LIBRARIES.has(targetRoom) && path !== join(src, targetRoom, "index.ts"))
        report(line, `enter ${targetRoom} through its index.ts`);
    });
  if (!isTest(file)) edges.set(file, targets);
}
for (const cycle of cycles(edges)) violations.push(`${cycle.map(name).join(" -> ")}: files import each other`);
for (const cycle of cycles(folderEdges()))
  violations.push(`${cycle.map(name).join(" -> ")}: folders import each other`);
checkDoors();
for (const violation of violations) console.error(violation);
console.log(`import direction: ${violations.length} violations`);
process.exitCode = violations.length > 0 ? 1 : 0;

/** Folders of the rooms; a room's own files beside its folders are no folder, they may import below and be imported from there. */
function folderEdges() {
  const folders = new Map();
  for (const [file, targets] of edges) {
    const from = dirname(file);
    if (!folders.has(from)) folders.set(from, []);
    for (const target of targets) {
      const to = dirname(target);
      const isNested = from.startsWith(`${to}/`) || to.startsWith(`${from}/`);
      if (to !== from && !isNested && roomOf(target) === roomOf(file)) folders.get(from).push(to);
    }
  }
  return folders;
}

/** Strongly connected groups of more than one (Tarjan). */
function cycles(graph) {
  const [index, low, stack, found] = [new Map(), new Map(), [], []];
  const visit = (node) => {
    index.set(node, index.size);
    low.set(node, index.get(node));
    stack.push(node);
    for (const next of graph.get(node) ?? []) {
      if (!index.has(next)) visit(next);
      if (stack.includes(next)) low.set(node, Math.min(low.get(node), low.get(next)));
    }
    if (low.get(node) !== index.get(node)) return;
    const group = stack.splice(stack.indexOf(node));
    if (group.length > 1) found.push(group);
  };
  for (const node of graph.keys()) if (!index.has(node)) visit(node);
  return found;
}

/** A door is as wide as it is used: what no other room imports stays inside. */
function checkDoors() {
  const used = new Map();
  for (const file of files.filter((candidate) => !isTest(candidate))) {
    const text = readFileSync(file, "utf8");
    const lists =
      /(?:(?:import|export)\s+(?:type\s+)?\{([^}]*)\}\s*from|\{([^{}]*)\}\s*=\s*await import\()\s*"(\.[^"]*\/index\.ts)"/g;
    for (const [, names, dynamic, target] of text.matchAll(lists)) {
      const door = resolve(dirname(file), target);
      if (roomOf(door) !== roomOf(file)) used.set(door, [...(used.get(door) ?? []), ...words(names ?? dynamic)]);
    }
    for (const [, namespace, target] of text.matchAll(/import \* as (\w+) from "(\.[^"]*\/index\.ts)"/g)) {
      const door = resolve(dirname(file), target);
      const names = [...text.matchAll(new RegExp(`\\b${namespace}\\.(\\w+)`, "g"))].map(([, name]) => name);
      if (roomOf(door) !== roomOf(file)) used.set(door, [...(used.get(door) ?? []), ...names]);
    }
    // A type taken from a whole door: every name counts as used.
    for (const [, target] of text.matchAll(/(?:typeof import\(|\(await import\(|import\()\s*"(\.[^"]*\/index\.ts)"/g)) {
      const door = resolve(dirname(file), target);
      if (roomOf(door) !== roomOf(file) && !text.includes(`} = await import("${target}")`)) used.set(door, ["*"]);
    }
  }
  for (const room of readdirSync(src)) {
    const door = join(src, room, "index.ts");
    if (!existsSync(door)) continue;
    const names = used.get(door) ?? [];
    if (names.includes("*")) continue;
    for (const [, list] of readFileSync(door, "utf8").matchAll(/export\s+(?:type\s+)?\{([^}]*)\}/g))
      for (const word of words(list))
        if (!names.includes(word)) violations.push(`${name(door)}: ${word} is imported by no other room`);
  }
}

function words(list) {
  const all = list.split(",").map((word) => word.trim().replace(/^type /, ""));
  return all.filter((word) => word !== "").map((word) => word.split(/ as |:/)[0].trim());
}
