import { join } from "node:path";
import { expect, test } from "vitest";
import { runProgram } from "../src/process/run-program.ts";
import { temporaryFolder } from "../test/support/files/temporary-folder.ts";

/** A project that follows every rule: a component with a door, the floor below it, a pure room, the page. */
const SOUND: Readonly<Record<string, string>> = {
  "src/agent/start-agent.ts": 'import { startDns } from "../dns/index.ts";\nexport const started = startDns;\n',
  "src/dns/index.ts": 'export { startDns } from "./start-dns.ts";\n',
  "src/dns/start-dns.ts": 'import { nextState } from "./core/next-state.ts";\nexport const startDns = nextState;\n',
  "src/dns/core/next-state.ts": "export const nextState = 1;\n",
  "src/dns/read-clock.ts": "export const readClock = () => Date.now();\n",
  "src/base/words.ts": "export const words = [];\n",
  "src/istio-api/kinds.ts": 'import { words } from "../base/words.ts";\nexport const kinds = words;\n',
  "src/console/api.ts": "export interface Page {}\n",
  "src/envoy/index.ts": "",
  "web/page.tsx": 'import type { Page } from "../src/console/api.ts";\nexport type Shown = Page;\n',
};

async function check(changed: Readonly<Record<string, string>> = {}): Promise<string> {
  await using folder = temporaryFolder({ files: { ...SOUND, ...changed } });
  const script = join(import.meta.dirname, "check-imports.mjs");
  const { code, stdout, stderr } = await runProgram(process.execPath, [script, folder.path]);
  expect(code).toBe(stderr === "" ? 0 : 1);
  expect(stdout).toMatch(/^import direction: \d+ violations\n$/);
  return stderr;
}

test("a project that follows the rules has no violations", async () => {
  expect(await check()).toBe("");
});

test.each([
  {
    rule: "a room without a layer",
    files: { "src/new-room/a.ts": "" },
    says: "src/new-room/a.ts:1: room new-room has no layer; add it to scripts/check-imports.mjs",
  },
  {
    rule: "an arrow that turns back",
    files: { "src/base/words.ts": 'import "../agent/start-agent.ts";\n' },
    says: "src/base/words.ts:1: base may not import agent: arrows never turn back",
  },
  {
    rule: "a path that a template literal names",
    files: { "src/base/words.ts": "export const load = () => import(`../istio-api/kinds.ts`);\n" },
    says: "src/base/words.ts:1: base may not import istio-api: arrows never turn back",
  },
  {
    rule: "a sibling",
    files: { "src/dns/read-clock.ts": 'import type {\n  Envoy,\n} from "../envoy/index.ts";\n' },
    says: "src/dns/read-clock.ts:1: dns may not import its sibling envoy: declare an interface, the composition root connects",
  },
  {
    rule: "a way around a door",
    files: { "src/agent/start-agent.ts": 'import { nextState } from "../dns/core/next-state.ts";\n' },
    says: "src/agent/start-agent.ts:1: enter dns through its index.ts",
  },
  {
    rule: "a door that is wider than it is used",
    files: {
      "src/dns/index.ts": 'export { startDns } from "./start-dns.ts";\nexport { readClock } from "./read-clock.ts";\n',
    },
    says: "src/dns/index.ts: readClock is imported by no other room",
  },
  {
    rule: "files that import each other",
    files: { "src/dns/core/next-state.ts": 'import type { S } from "../start-dns.ts";\nexport const nextState = 1;\n' },
    says: "src/dns/start-dns.ts -> src/dns/core/next-state.ts: files import each other",
  },
  {
    rule: "folders that import each other",
    files: {
      "src/dns/a/one.ts": 'import "../b/one.ts";\n',
      "src/dns/b/one.ts": "",
      "src/dns/b/two.ts": 'import "../a/two.ts";\n',
      "src/dns/a/two.ts": "",
    },
    says: "src/dns/a -> src/dns/b: folders import each other",
  },
  {
    rule: "a clock in a pure room",
    files: { "src/istio-api/kinds.ts": "// said twice\nexport const at = () => performance.now();\n" },
    says: "src/istio-api/kinds.ts:2: pure code gets clock, timers, randomness and process values as arguments",
  },
  {
    rule: "a module with effects in a core folder",
    files: { "src/dns/core/next-state.ts": 'export { readFileSync as nextState } from "fs";\n' },
    says: "src/dns/core/next-state.ts:1: pure code may not import fs",
  },
  {
    rule: "a clock that pure code reaches through a file beside it",
    files: { "src/dns/core/next-state.ts": 'export { readClock as nextState } from "../read-clock.ts";\n' },
    says: "src/dns/core/next-state.ts -> src/dns/read-clock.ts: pure code reaches Date.now(",
  },
  ...["node:http", "node:https", "node:http2", "node:child_process", "http"].map((module) => ({
    rule: `${module} off the floor`,
    files: { "src/dns/read-clock.ts": `import { connect } from "${module}";\nexport const readClock = connect;\n` },
    says: `src/dns/read-clock.ts:1: ${module} is for net/, files/ and process/: use what they have`,
  })),
  ...[
    'import {\n  readFileSync,\n  watch,\n} from "node:fs";',
    'import { watch } from "node:fs/promises";',
    'import { watchFile } from "node:fs";',
    'import * as fs from "node:fs";\nfs.watch("a");',
    'import fs from "node:fs";\nfs.watchFile("a");',
    'const fs = await import("node:fs");\nfs.watch("a");',
  ].map((text) => ({
    rule: `a file watch off the floor: ${JSON.stringify(text)}`,
    files: { "src/dns/read-clock.ts": `${text}\n` },
    says: "src/dns/read-clock.ts:1: fs.watch is for net/, files/ and process/: use what they have",
  })),
  {
    rule: "a package",
    files: { "src/base/words.ts": 'import { Server } from "@grpc/grpc-js";\n' },
    says: "src/base/words.ts:1: @grpc/grpc-js is a package; what is bundled is listed in scripts/check-imports.mjs",
  },
  {
    rule: "YAML past its folder",
    files: { "src/base/words.ts": 'import { parse } from "yaml";\n' },
    says: "src/base/words.ts:1: the package yaml is for src/files/yaml/: use what is there",
  },
  {
    rule: "a page that takes code of its server",
    files: { "web/page.tsx": 'import { words } from "../src/base/words.ts";\n' },
    says: "web/page.tsx: the page takes types of src/console/api.ts, not src/base/words.ts",
  },
])("$rule is a violation", async ({ files, says }) => {
  expect((await check(files)).split("\n")).toContain(says);
});

test.each([
  'import { readFile } from "node:fs/promises";',
  'import type { Server } from "node:http";',
  'import * as fs from "node:fs";\nfs.readFileSync("a");',
  'const { readFileSync } = await import("node:fs");',
])("%j is allowed outside of pure rooms", async (text) => {
  expect(await check({ "src/dns/read-clock.ts": `${text}\n` })).toBe("");
});
