import { constants } from "node:os";
import {
  type Machine,
  MeshError,
  machineOutside,
  spawnInUserNamespace,
  userNamespaceObstacle,
} from "../../mesh/index.ts";
import type { CommandContext } from "../framework/command.ts";

/** Set for the `mesh up` inside, which has a channel to the one outside. */
const INSIDE = "PILOT_AGENT_MESH_INSIDE";

export interface OutsideOptions {
  readonly launcher: string;
  readonly envoy: string;
  /** That of this user: inside it would be root's. */
  readonly stateDir: string;
  /** Descriptors that the one inside has as well. */
  readonly passedOn: readonly number[];
}

/**
 * `mesh up` once more, as root of namespaces of its own. This process stays on the machine's network: it listens and connects there for
 * the other one, and ends with it.
 */
export async function upInUserNamespace(
  { env, words: given, onSignal }: Pick<CommandContext, "env" | "words" | "onSignal">,
  { launcher, envoy, stateDir, passedOn }: OutsideOptions,
): Promise<number> {
  const obstacle = await userNamespaceObstacle();
  if (obstacle !== undefined) {
    throw new MeshError("isolation", `--isolation namespaces is not possible here: ${obstacle}`);
  }
  const words = [launcher, ...given, "--state-dir", stateDir];
  const inside = { ...env, ENVOY_BIN: envoy, PILOT_AGENT_NODE: process.execPath, [INSIDE]: "yes" };
  const child = spawnInUserNamespace(words, inside, passedOn);
  onSignal((name) => void child.kill(name));
  return new Promise((ended, failed) => {
    child.once("error", failed);
    child.once("exit", (code, signal) => ended(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
  });
}

/** The machine's network for the `mesh up` inside; undefined for any other. Ends with the one outside, without which it cannot be reached. */
export function machineOfOutside(env: CommandContext["env"], onGone: () => void): Machine | undefined {
  if (!isInside(env) || process.send === undefined) return undefined;
  process.once("disconnect", onGone);
  const machine = machineOutside({
    send: (message) => void process.send?.(message),
    onMessage: (listener) => void process.on("message", listener),
  });
  process.channel?.unref();
  return machine;
}

/** Whether this is the `mesh up` inside, which is root there and nowhere else. */
export function isInside(env: CommandContext["env"]): boolean {
  return env[INSIDE] !== undefined;
}

/** Without what is meant for this process alone. */
export function withoutMark({ [INSIDE]: _, ...env }: CommandContext["env"]): CommandContext["env"] {
  return env;
}
