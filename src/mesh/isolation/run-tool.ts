import { runProgram } from "../../process/run-program.ts";
import { MeshError } from "../mesh-error.ts";

/** Standard output of a program of the system; a failure is an error with what the program said. */
export async function mustRun(program: string, args: readonly string[], input = ""): Promise<string> {
  const result = await runProgram(program, args, { input });
  if (result.code === 0) return result.stdout;
  const said = (result.error?.message || result.stderr || result.stdout).trim().split("\n").slice(-3).join("; ");
  const end = result.signal ?? `exit code ${result.code}`;
  throw new MeshError("isolation", `${[program, ...args].join(" ")} failed: ${said || end}`);
}
