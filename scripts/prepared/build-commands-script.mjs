// The short commands that a pod's start, probes and hooks wait for as one script (dist/commands.cjs), those that somebody at a terminal waits
// for as another (dist/analysis.cjs), and the code that V8 compiled while they ran once: see bin/prepared.cjs.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { bundleCommands, startScript } from "./bundle-commands.mjs";
import { OPTIONS, withoutOptions } from "./code-flags.cjs";

/** The launcher has the same list. */
const COMMANDS = ["istio-clean-iptables", "istio-iptables", "request", "version", "wait"];
/** Of `discovery`, `explain` alone runs from the script: a server's start is not worth it. */
const ANALYSIS = ["analyze", "discovery", "simulate"];

/** All that capture would run: stand-ins that take any input and list nothing. */
const PROGRAMS = ["nft", "ip", "iptables", "ip6tables"].flatMap((name) =>
  name.endsWith("tables")
    ? ["", "-nft", "-legacy"].flatMap((kind) => ["", "-save", "-restore"].map((verb) => `${name}${kind}${verb}`))
    : [name],
);
const STAND_IN = "#!/bin/sh\nwhile read -r line; do :; done\n";
const LIMIT_MS = 30_000;

export async function buildCommandsScript(folder, options) {
  await writeScript(folder, "commands.cjs", COMMANDS, options);
  await writeScript(folder, "analysis.cjs", ANALYSIS, options);
  await keepCompiledCode(folder);
}

async function writeScript(folder, name, commands, options) {
  const { modules } = await bundleCommands(
    options,
    commands.map((command) => `./${command}.ts`),
  );
  writeFileSync(join(folder, name), startScript(modules));
}

/** The commands run for real, but for the programs that they start. A failure costs speed only: modules are loaded then. */
async function keepCompiledCode(dist) {
  const programs = mkdtempSync(join(tmpdir(), "pilot-agent-build-"));
  const server = createServer((_request, response) => response.end());
  try {
    for (const name of PROGRAMS) writeFileSync(join(programs, name), STAND_IN, { mode: 0o755 });
    await new Promise((bound) => server.listen(0, "127.0.0.1", bound));
    const url = `http://localhost:${server.address().port}/healthz/ready`;
    const capture = [
      "istio-iptables",
      "-p",
      "15001",
      "-z",
      "15006",
      "-u",
      "1337",
      "-m",
      "REDIRECT",
      "-i",
      "*",
      "-x",
      "",
    ];
    const runs = [
      ["version"],
      [...capture, "-b", "*", "-d", "15090,15021,15020"],
      ["istio-clean-iptables"],
      ["wait", "--periodMillis=1", `--url=${url}`],
    ];
    const mesh = join(import.meta.dirname, "analyzed-mesh.yaml");
    const pod = ["--config", mesh, "--workload", "shop/web-1"];
    const analyses = [
      ["analyze", "--config", mesh],
      ["discovery", "explain", ...pod],
      ["discovery", "explain", ...pod, "--why", "api.shop.svc.cluster.local"],
      ["simulate", "request", "--config", mesh, "--from", "shop/web-1", "--to", "http://api.shop/v1"],
    ];
    const env = { ...withoutOptions(), PATH: programs };
    for (const [name, lines] of [
      ["commands.cjs", runs],
      ["analysis.cjs", analyses],
    ]) {
      // As the launcher does: V8 takes cached code only under the options it was cached with.
      const script = join(import.meta.dirname, "keep-commands-code.cjs");
      const words = [...OPTIONS, "--use-openssl-ca", script, dist, name, JSON.stringify(lines)];
      // Nothing else is on the path: no run changes the rules of this machine.
      await promisify(execFile)(process.execPath, words, { env, timeout: LIMIT_MS });
    }
  } catch (failure) {
    console.error(`no compiled code is kept, short commands start slower: ${failure.message.trim()}`);
  } finally {
    server.close();
    rmSync(programs, { recursive: true, force: true });
  }
}
