// Who may import whom (docs/architecture.md). Prints each violation as file:line and exits 1 when there is one.
//   node scripts/check-imports.mjs [ROOT]     the folder that holds src/ and web/, this project's by default
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
    "explain",
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
const NEIGHBOURS = new Set(["xds -> grpc", "mesh -> agent", "mesh -> discovery", "explain -> simulate"]);
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
const PURE_ROOMS = new Set(["istio-api", "mesh-model", "envoy-config", "analyze", "simulate", "explain"]);
const EFFECTS =
  /^(node:)?(fs|net|dgram|http|https|http2|tls|child_process|worker_threads|dns|os|process|timers|cluster|perf_hooks|readline|inspector|module)(\/|$)/;
/** Made on the floor only: HTTP, file watches, child processes. gRPC is a floor of its own for HTTP/2. */
const FLOOR = new Set(["net", "files", "process"]);
const FLOOR_MODULES = /^(node:)?(http|https|http2|child_process|cluster)$/;
/** Files with a reason of their own to go around the floor; the file says which. */
const FLOOR_EXCEPTIONS = new Set(["src/sds/probe-socket.ts", "src/status/probes/http-exchange.ts"]);
/** Packages that are bundled, and the folder that may import each. */
const PACKAGES = new Map([["yaml", "src/files/yaml/"]]);

const root = resolve(process.argv[2] ?? join(import.meta.dirname, ".."));
const src = join(root, "src");
const layerOf = (room) => LAYERS.findIndex((layer) => layer.includes(room));
const roomOf = (file) => relative(src, file).split("/")[0].replace(/\.ts$/, "");
const name = (file) => relative(dirname(src), file);
const sources = (dir) =>
  readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) return entry.name === "gen" ? [] : sources(path);
    return entry.name.endsWith(".ts") ? [path] : [];
  });
const IMPURE =
  /\b(process\.|setTimeout\(|setInterval\(|setImmediate\(|Date\.now\(|new Date\(\)|Math\.random\(|performance\.now\(|random(Bytes|UUID|Int)\()/;
/** `import ... from`, `export ... from`, `import()` and `import` for its effect, also over several lines. */
const IMPORTS =
  /(?:^|[^\w.])(?:(import|export)\b(\s+type\b)?\s*(\*[\w\s]*|[\w\s,]*\{[^{}]*\}|\w+)\s*from\s*|(?:(\{[^{}]*\})\s*=\s*await\s+)?import\s*\(\s*|import\s+)(["'`])([^"'`]+)\5/g;
/** Comments of several lines begin a line; elsewhere such characters are text, as of a media range. */
const COMMENT = /^[ \t]*\/\*[\s\S]*?\*\/|(^|\s)\/\/.*/gm;

const violations = [];
const files = sources(src);
const isTest = (file) => file.endsWith(".test.ts");
const isPure = (file) => !isTest(file) && (/\/core\//.test(file) || PURE_ROOMS.has(roomOf(file)));
const edges = new Map();
/** What a file does to the world by itself, and which names it takes from which files at run time. */
const effects = new Map();
const values = new Map();
for (const file of files) checkFile(file);
for (const cycle of cycles(edges)) violations.push(`${cycle.map(name).join(" -> ")}: files import each other`);
for (const cycle of cycles(folderEdges()))
  violations.push(`${cycle.map(name).join(" -> ")}: folders import each other`);
checkDoors();
for (const file of files.filter(isPure)) checkReach(file);
checkPage();
for (const violation of violations) console.error(violation);
console.log(`import direction: ${violations.length} violations`);
process.exitCode = violations.length > 0 ? 1 : 0;

function checkFile(file) {
  const room = roomOf(file);
  const report = (line, text) => violations.push(`${name(file)}:${line}: ${text}`);
  if (layerOf(room) === -1) report(1, `room ${room} has no layer; add it to scripts/check-imports.mjs`);
  const code = readFileSync(file, "utf8").replace(COMMENT, (text) => text.replace(/[^\n]/g, " "));
  const lineAt = (index) => code.slice(0, index).split("\n").length;
  const impure = IMPURE.exec(code);
  if (impure !== null) effects.set(file, impure[0]);
  if (isPure(file) && impure !== null)
    report(lineAt(impure.index), "pure code gets clock, timers, randomness and process values as arguments");
  const targets = [];
  values.set(file, []);
  for (const { type, clause, target, index } of importsOf(code)) {
    const line = lineAt(index);
    const path = resolve(dirname(file), target);
    if (isPure(file) && EFFECTS.test(target)) report(line, `pure code may not import ${target}`);
    if (isTest(file)) continue;
    if (EFFECTS.test(target) && !type) effects.set(file, target);
    if (target.startsWith(".") && !type) values.get(file).push({ path, names: namesOf(clause) });
    checkTarget({ file, room, type, target, path, clause, code, report: (text) => report(line, text) });
    if (target.startsWith(".")) targets.push(path);
  }
  if (!isTest(file)) edges.set(file, targets);
}

function checkTarget({ file, room, type, target, path, clause, code, report }) {
  const isOnFloor = FLOOR.has(room) || FLOOR_EXCEPTIONS.has(name(file)) || (room === "grpc" && target === "node:http2");
  const watches = /^(node:)?fs(\/promises)?$/.test(target) && takesWatch(clause, code);
  if ((FLOOR_MODULES.test(target) || watches) && !type && !isOnFloor)
    report(`${watches ? "fs.watch" : target} is for net/, files/ and process/: use what they have`);
  if (!target.startsWith(".")) {
    if (/^node:/.test(target)) return;
    const folder = PACKAGES.get(target);
    if (folder === undefined) report(`${target} is a package; what is bundled is listed in scripts/check-imports.mjs`);
    else if (!name(file).startsWith(folder)) report(`the package ${target} is for ${folder}: use what is there`);
    return;
  }
  const targetRoom = roomOf(path);
  if (targetRoom === room) return;
  const [from, to] = [layerOf(room), layerOf(targetRoom)];
  if (to < from) report(`${room} may not import ${targetRoom}: arrows never turn back`);
  if (to === from && !NEIGHBOURS.has(`${room} -> ${targetRoom}`))
    report(`${room} may not import its sibling ${targetRoom}: declare an interface, the composition root connects`);
  if (!LIBRARIES.has(targetRoom) && path !== join(src, targetRoom, "index.ts"))
    report(`enter ${targetRoom} through its index.ts`);
}

/** The imports of a text; `type` where nothing is left of one at run time. */
function importsOf(code) {
  return [...code.matchAll(IMPORTS)].map(({ 0: text, 2: typeWord, 3: listed, 4: taken, 6: target, index }) => {
    const clause = listed ?? taken ?? "*";
    const names = namesOf(clause);
    const type = typeWord !== undefined || (clause.startsWith("{") && names !== undefined && names.length === 0);
    return { type, clause, target, index: index + text.search(/\S/) };
  });
}

/** The names that are taken at run time; undefined: all of them. */
function namesOf(clause) {
  const list = /\{([^{}]*)\}/.exec(clause)?.[1];
  if (list === undefined) return undefined;
  const all = list.split(",").map((word) => word.trim());
  return all.filter((word) => word !== "" && !word.startsWith("type ")).map((word) => word.split(/ as |:/)[0].trim());
}

/** By name, or as a member of the module. */
function takesWatch(clause, code) {
  if (/\bwatch(File)?\b/.test(clause)) return true;
  const whole = /^(?:\*\s*as\s+)?(\w+)/.exec(clause)?.[1];
  return clause === "*" || (whole !== undefined && new RegExp(`\\b${whole}\\.watch(File)?\\b`).test(code));
}

/** Pure code stays pure by what it calls: no file that it reaches at run time has effects. Doors are looked through, name by name. */
function checkReach(file) {
  const from = new Map([[file, undefined]]);
  for (const current of from.keys()) {
    const effect = effects.get(current);
    if (effect !== undefined && current !== file) {
      const way = [];
      for (let at = current; at !== undefined; at = from.get(at)) way.unshift(name(at));
      violations.push(`${way.join(" -> ")}: pure code reaches ${effect}`);
      return;
    }
    for (const { path, names } of values.get(current) ?? [])
      for (const target of behindDoor(path, names)) if (!from.has(target)) from.set(target, current);
  }
}

/** The files behind a door that the names come from. */
function behindDoor(path, names) {
  if (!path.endsWith("/index.ts") || names === undefined) return [path];
  const behind = values.get(path) ?? [];
  return names.flatMap((taken) => {
    const source = behind.find((exported) => exported.names?.includes(taken));
    return source === undefined ? [path] : [source.path];
  });
}

/** The console's page shares the contract with its server and nothing else. */
function checkPage() {
  const web = join(root, "web");
  if (!existsSync(web)) return;
  for (const entry of readdirSync(web, { recursive: true, encoding: "utf8" })) {
    if (!/\.tsx?$/.test(entry) || /\.test\.tsx?$/.test(entry)) continue;
    const file = join(web, entry);
    for (const { type, target } of importsOf(readFileSync(file, "utf8").replace(COMMENT, ""))) {
      const path = resolve(dirname(file), target);
      if (!target.startsWith(".") || !path.startsWith(`${src}/`)) continue;
      if (path !== join(src, "console/api.ts") || !type)
        violations.push(`${relative(root, file)}: the page takes types of src/console/api.ts, not ${name(path)}`);
    }
  }
}

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
