import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What one start of the scripted Envoy does. Without `exit` or `signal` it runs until SIGTERM. */
export interface ScriptedRun {
  /** Ends with this code after `afterMs`. */
  readonly exit?: number;
  /** Ends by this signal after `afterMs`. */
  readonly signal?: NodeJS.Signals;
  readonly afterMs?: number;
  readonly ignoresTerm?: boolean;
  /** Text for stdout at the start. */
  readonly prints?: string;
}

/** An answer of its admin; an array gives one per call, the last one again and again. `hangs` accepts and never answers. */
export type ScriptedAnswer = { readonly status?: number; readonly body?: string; readonly hangs?: boolean };

export interface ScriptedEnvoyOptions {
  /** By start; the last one repeats. */
  readonly runs: readonly ScriptedRun[];
  readonly adminPort?: number;
  /** By path without its query. */
  readonly answers?: Readonly<Record<string, ScriptedAnswer | readonly ScriptedAnswer[]>>;
  /** Of `--mode validate` and `--mode init_only`. */
  readonly validation?: { readonly exit: number; readonly output: string };
  /** Flags of `--help`; none makes it refuse to help. */
  readonly flags?: readonly string[];
}

export interface ScriptedCall {
  readonly kind: "start" | "request" | "help" | "validate";
  readonly pid: number;
  readonly at: number;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly request?: string;
}

export interface ScriptedEnvoy extends Disposable {
  readonly path: string;
  readonly folder: string;
  /** All it was asked so far, oldest first. */
  calls(kind?: ScriptedCall["kind"]): ScriptedCall[];
  /** Replaces the script for the starts to come. */
  play(options: ScriptedEnvoyOptions): void;
}

/** An executable that plays exit codes and admin answers, for what the real Envoy cannot be made to do on request. */
export function createScriptedEnvoy(options: ScriptedEnvoyOptions): ScriptedEnvoy {
  const folder = mkdtempSync(join(tmpdir(), "scripted-envoy-"));
  const path = join(folder, "envoy");
  const script = join(folder, "script.json");
  const log = join(folder, "calls");
  const play = (next: ScriptedEnvoyOptions) => writeFileSync(script, JSON.stringify(next));
  play(options);
  writeFileSync(path, `#!${process.execPath}\nconst FOLDER = ${JSON.stringify(folder)};\n${PROGRAM}`);
  chmodSync(path, 0o755);
  // Other users may play it too.
  chmodSync(folder, 0o777);
  for (const file of [log, join(folder, "starts")]) {
    writeFileSync(file, "");
    chmodSync(file, 0o666);
  }
  return {
    path,
    folder,
    play,
    calls: (kind) => {
      const written = readFileSync(log, "utf8").split("\n").slice(0, -1);
      const calls = written.map((line) => JSON.parse(line) as ScriptedCall);
      return kind === undefined ? calls : calls.filter((call) => call.kind === kind);
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Plain CommonJS without a suffix, so that the system can execute it. One appended line per call keeps parallel writers apart. */
const PROGRAM = `
const fs = require("node:fs");
const http = require("node:http");
const script = JSON.parse(fs.readFileSync(FOLDER + "/script.json", "utf8"));
const args = process.argv.slice(2);
const note = (call) => fs.appendFileSync(FOLDER + "/calls", JSON.stringify({ ...call, pid: process.pid, at: Date.now() }) + "\\n");
if (args.includes("--help")) {
  note({ kind: "help" });
  if (script.flags === undefined) process.exit(1);
  for (const flag of script.flags) console.log("   " + (flag.startsWith("--") ? flag : flag + " <string>,  --x") + " <string>");
} else if (args.includes("validate") || args.includes("init_only")) {
  note({ kind: "validate", args });
  const { exit, output } = script.validation ?? { exit: 0, output: "" };
  process.stderr.write(output);
  process.exitCode = exit;
} else run();

function run() {
  const counter = FOLDER + "/starts";
  const starts = fs.statSync(counter).size;
  fs.appendFileSync(counter, ".");
  const turn = script.runs[Math.min(starts, script.runs.length - 1)];
  process.on("SIGTERM", () => turn.ignoresTerm || process.exit(0));
  note({ kind: "start", args, env: process.env });
  if (turn.prints !== undefined) process.stdout.write(turn.prints);
  if (script.adminPort !== undefined) admin(script.adminPort);
  setTimeout(() => undefined, 2 ** 30);
  if (turn.exit !== undefined) setTimeout(() => process.exit(turn.exit), turn.afterMs ?? 0);
  if (turn.signal !== undefined) setTimeout(() => process.kill(process.pid, turn.signal), turn.afterMs ?? 0);
}

function admin(port) {
  const asked = new Map();
  http.createServer((request, response) => {
    note({ kind: "request", request: request.method + " " + request.url });
    const path = request.url.split("?")[0];
    const listed = script.answers?.[path] ?? { status: 404 };
    const turn = asked.get(path) ?? 0;
    asked.set(path, turn + 1);
    const answer = Array.isArray(listed) ? listed[Math.min(turn, listed.length - 1)] : listed;
    if (answer.hangs) return;
    response.writeHead(answer.status ?? 200);
    response.end(answer.body ?? "");
  }).listen(port, "127.0.0.1");
}
`;
