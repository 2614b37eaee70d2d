import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { errorMessage } from "../../base/coded-error.ts";
import { MeshError } from "../mesh-error.ts";

export interface ToolResult {
  /** Undefined when it could not be started. */
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program of the system to its end; never rejects. */
export function runTool(program: string, args: readonly string[], input = ""): Promise<ToolResult> {
  return new Promise((resolve) => {
    let child: ChildProcessWithoutNullStreams;
    try {
      child = spawn(program, [...args], { stdio: ["pipe", "pipe", "pipe"] });
    } catch (thrown) {
      resolve({ code: undefined, stdout: "", stderr: errorMessage(thrown) });
      return;
    }
    const texts = { stdout: "", stderr: "" };
    child.stdout.on("data", (chunk: Buffer) => {
      texts.stdout += chunk.toString();
    });
    child.stderr.on("data", (chunk: Buffer) => {
      texts.stderr += chunk.toString();
    });
    child.once("error", (thrown) => resolve({ code: undefined, stdout: "", stderr: thrown.message }));
    child.once("close", (code) => resolve({ ...texts, code: code ?? 255 }));
    // A program that fails early has closed its input; its exit code tells more.
    child.stdin.on("error", () => undefined);
    child.stdin.end(input);
  });
}

/** As `runTool`; a failure is an error with what the program said. */
export async function mustRun(program: string, args: readonly string[], input = ""): Promise<string> {
  const result = await runTool(program, args, input);
  if (result.code === 0) return result.stdout;
  const said = (result.stderr || result.stdout).trim().split("\n").slice(-3).join("; ");
  throw new MeshError("isolation", `${[program, ...args].join(" ")} failed: ${said || `exit code ${result.code}`}`);
}
