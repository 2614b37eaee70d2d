// npm start: the demo shop on this machine, a real mesh with mutual TLS. Further words go to `pilot-agent mesh up`. Ctrl-C ends all of it.
import { spawn } from "node:child_process";
import { resolve } from "node:path";

const program = resolve(import.meta.dirname, "../bin/pilot-agent");
const words = ["mesh", "up", "--demo", "--called-as", "./bin/pilot-agent", ...process.argv.slice(2)];
const mesh = spawn(program, words, { stdio: "inherit" });

// A terminal's Ctrl-C reaches the mesh by itself; this process only has to outlive it. Signals to this process alone are passed on.
process.on("SIGINT", () => undefined);
for (const name of ["SIGTERM", "SIGHUP"]) process.on(name, () => mesh.kill("SIGTERM"));
mesh.on("error", (thrown) => {
  console.error(thrown.message);
  process.exitCode = 1;
});
mesh.on("exit", (code) => {
  process.exitCode = code ?? 1;
});
