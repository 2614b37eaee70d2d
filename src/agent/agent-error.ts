import { CodedError, errorMessage } from "../base/coded-error.ts";

/** A part that could not be started; the message keeps the reference's words, which operators search for. */
export class AgentStartError extends CodedError<"start-failed" | "fatal-config"> {}

/** Runs a step of the start; its failure says what was being started, which some failures do themselves. */
export async function step<Result>(what: string | undefined, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    // The reference ends on the spot, with the message as it is.
    if (cause instanceof AgentStartError && cause.code === "fatal-config") throw cause;
    const reason = errorMessage(cause);
    throw new AgentStartError("start-failed", what === undefined ? reason : `${what}: ${reason}`, { cause });
  }
}
