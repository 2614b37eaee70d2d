import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { beforeEach, describe, expect, test } from "vitest";
import { COMMANDS } from "../src/cli/commands/list.ts";
import type { Command, CommandEntry } from "../src/cli/framework/command.ts";
import { LOG_FLAGS } from "../src/cli/framework/log-flags.ts";
import { parseFlags } from "../src/cli/framework/parse-flags.ts";
import { withHelp } from "../src/cli/framework/run-cli.ts";
import { parseMeshFile } from "../src/mesh/index.ts";
import { temporaryFolder } from "../test/support/files/temporary-folder.ts";
import { needs } from "../test/support/needs.ts";
import { PROGRAM } from "../test/support/process/program.ts";

const root = resolve(import.meta.dirname, "..");
const PAGES = [
  "README.md",
  "CONTRIBUTING.md",
  ...readdirSync(join(root, "docs")).flatMap((name) => (name.endsWith(".md") ? [`docs/${name}`] : [])),
];
const read = (page: string) => readFileSync(join(root, page), "utf8");
const scripts = JSON.parse(read("package.json")).scripts as Readonly<Record<string, string>>;

interface Block {
  readonly page: string;
  readonly line: number;
  readonly text: string;
  /** Why it cannot be run here: `<!-- not run: needs a cluster -->` above it. */
  readonly reason: string | undefined;
}

const BLOCK = /(?:<!-- not run: (.+?) -->\n+)?```sh\n([\s\S]*?)```/g;
const blocks: readonly Block[] = PAGES.flatMap((page) =>
  [...read(page).matchAll(BLOCK)].map(({ 1: reason, 2: text = "", index }) => ({
    page,
    line: read(page).slice(0, index).split("\n").length,
    text,
    reason,
  })),
);

/** Everything that looks like a call of the program: in blocks, between backticks, and in the examples of --help. */
async function calls(): Promise<readonly (readonly [where: string, words: readonly string[]])[]> {
  const spans = PAGES.flatMap((page) =>
    [
      ...read(page)
        .replace(/```[\s\S]*?```/g, "")
        .matchAll(/`((?:\.\/bin\/)?pilot-agent [^`]+)`/g),
    ].map(([, text = ""]) => [page, text.replace(/\n/g, " ")] as const),
  );
  const lines = blocks.flatMap(({ page, text }) => text.split("\n").map((line) => [page, line] as const));
  const examples = (await everyCommand(COMMANDS, "pilot-agent")).flatMap(({ path, command }) =>
    (command.example ?? "").split("\n").map((line) => [`${path} --help`, line] as const),
  );
  return [...spans, ...lines, ...examples].flatMap(([where, line]) => {
    const [, text] =
      /(?:^|[\s(])(?:\.\/bin\/)?pilot-agent ((?:'[^']*'|"[^"]*"|[^|>&;#)]|\$\([^)]*\))+)/.exec(line) ?? [];
    return text === undefined || /^\s*#/.test(line) ? [] : [[where, wordsOf(text)] as const];
  });
}

/** As a shell would split it; what stands for something (`[-f FILE]`, `...`, `a|b`) is left out or taken as a word. */
function wordsOf(text: string): readonly string[] {
  const plain = text.replace(/\[[^\]]*\]/g, " ").replace(/\.\.\./g, " ");
  return [...plain.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)].map(([word]) => word.replace(/['"]/g, ""));
}

async function everyCommand(
  entries: readonly CommandEntry[],
  path: string,
): Promise<{ readonly path: string; readonly command: Command }[]> {
  const found = await Promise.all(
    entries.map(async (entry) => {
      const command = await entry.load();
      const own = `${path} ${entry.name}`;
      return [{ path: own, command }, ...(await everyCommand(command.subcommands ?? [], own))];
    }),
  );
  return found.flat();
}

/** What the command line would complain about; undefined when nothing. */
async function complaint(words: readonly string[]): Promise<string | undefined> {
  let entries: readonly CommandEntry[] = COMMANDS;
  let command: Command | undefined;
  let rest = words;
  for (;;) {
    const [first = ""] = rest;
    const entry = entries.find(({ name }) => name === first);
    if (entry === undefined) break;
    command = await entry.load();
    entries = command.subcommands ?? [];
    rest = rest.slice(1);
  }
  if (command === undefined) return words[0]?.startsWith("-") ? undefined : `there is no command ${words[0]}`;
  if (command.takesRawWords) return undefined;
  try {
    parseFlags(withHelp([...command.flags, ...LOG_FLAGS], "x"), rest, false);
  } catch (thrown) {
    // A placeholder where a number belongs is no mistake of the page.
    const text = String(thrown);
    return /invalid argument|needs an argument/.test(text) ? undefined : text;
  }
  return undefined;
}

test("every command that documents and examples name has the flags that they give it", async () => {
  const all = await calls();
  expect(all.length).toBeGreaterThan(60);
  const wrong = await Promise.all(
    all.map(async ([where, words]) => {
      const text = await complaint(words);
      return text === undefined ? [] : [`${where}: pilot-agent ${words.join(" ")}: ${text}`];
    }),
  );
  expect(wrong.flat()).toEqual([]);
});

test("every npm script that documents name is there, and so is every file they link to", () => {
  const named = PAGES.flatMap((page) =>
    [...read(page).matchAll(/npm run ([\w:-]+)/g)].map(([, name = ""]) => [page, name] as const),
  );
  expect(named.filter(([, name]) => scripts[name] === undefined)).toEqual([]);
  const links = PAGES.flatMap((page) =>
    [
      ...read(page)
        .replace(/```[\s\S]*?```/g, "")
        .matchAll(/\]\((?!https?:|#)([^)#\s]+)/g),
    ].map(([, link = ""]) => [page, link] as const),
  );
  expect(links.filter(([page, link]) => !existsSync(join(root, dirname(page), link)))).toEqual([]);
});

test("the mesh file of docs/mesh.md is one that mesh up takes", () => {
  const [, text = ""] = /```yaml\n([\s\S]*?)```/.exec(read("docs/mesh.md")) ?? [];
  expect(parseMeshFile(text)).toMatchObject({ file: { name: "shop" } });
});

describe("steps that documents lead through", () => {
  beforeEach(needs("envoy", "netns"));
  const pages = [...new Set(blocks.filter(({ reason }) => reason === undefined).map(({ page }) => page))];

  test("there are some, and what is not run says why", () => {
    expect(pages).toEqual(expect.arrayContaining(["docs/first-sidecar.md", "docs/first-proxyless.md"]));
    expect(blocks.filter(({ reason }) => reason !== undefined && reason.length < 8)).toEqual([]);
  });

  test.each(pages)("%s works word by word", async (page) => {
    const script = blocks.flatMap((block) => (block.page === page && block.reason === undefined ? [block.text] : []));
    using folder = temporaryFolder();
    symlinkSync(join(root, "node_modules"), folder.file("node_modules"));
    // In a network of its own: the ports that pages name are those that everybody uses.
    const text = `set -e\nip link set lo up\ntrap 'kill $(jobs -p); wait' EXIT\n${script.join("\n")}`;
    const env = { ...process.env, PATH: `${dirname(PROGRAM)}:${process.env.PATH}` };
    const ran = await promisify(execFile)("unshare", ["-n", "bash", "-c", text], {
      cwd: folder.path,
      env,
      timeout: 150_000,
    }).catch((thrown) => ({ stdout: `${thrown.stdout}\n${thrown.stderr}\n${thrown.message}` }));
    expect(ran.stdout).toMatch(/^hello( world)?$/m);
  });
});
