import type { Server } from "node:net";
import { join } from "node:path";
import { CloseStack } from "../../base/close-stack.ts";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import { silentLogger } from "../../base/logger.ts";
import { type Console, createActionFile, startConsole } from "../../console/index.ts";
import { type Machine, OWN_NETWORK } from "../isolation/machine.ts";
import { passOn } from "../isolation/start-relays.ts";
import { MeshError } from "../mesh-error.ts";
import { closeListener } from "../process/free-ports.ts";
import type { StateRecord } from "../state/mesh-state.ts";
import { createMeshSources, type MeshSourcesOptions } from "./mesh-sources.ts";

export interface MeshConsoleOptions extends MeshSourcesOptions {
  readonly listen: { readonly host: string; readonly port: number };
  readonly takesNextPort: boolean;
  readonly pageFolder: string;
  readonly state: StateRecord;
  /** Where its users are. */
  readonly machine: Machine;
}

/** The console of a mesh; its link is part of the mesh's state, which only its owner can read. */
export async function startMeshConsole(
  options: MeshConsoleOptions,
): Promise<{ readonly link: string; stop(): Promise<void> }> {
  const { listen, takesNextPort, pageFolder, folder, state, machine } = options;
  await using opened = new CloseStack();
  const sources = createMeshSources(options);
  opened.defer(async () => sources.close());
  const book = createActionFile(join(folder.path, "console-actions.json"));
  const door = machine === OWN_NETWORK ? undefined : await reserve(machine, listen, takesNextPort);
  if (door !== undefined) opened.defer(() => closeListener(door));
  const console: Console = await startConsole({
    listen: door === undefined ? listen : { ...listen, port: portOf(door) },
    takesNextPort,
    pageFolder,
    sources,
    book,
    log: silentLogger,
  }).catch((thrown: unknown) => {
    throw new MeshError("start", `the console cannot be served: ${errorMessage(thrown)}`, { cause: thrown });
  });
  opened.add(console);
  if (door !== undefined) passOn(door, { host: "127.0.0.1", port: portOf(door) });
  state.update({ console: { url: console.url, link: console.link } });
  const owned = opened.move();
  return { link: console.link, stop: () => owned.close() };
}

const MORE_PORTS = 20;

/** The port has to be free where its users are. */
async function reserve(
  machine: Machine,
  { host, port }: MeshConsoleOptions["listen"],
  takesNextPort: boolean,
): Promise<Server> {
  for (let next = port; ; next += 1) {
    try {
      return await machine.listen(next, host);
    } catch (thrown) {
      if (takesNextPort && errorCode(thrown) === "EADDRINUSE" && next < port + MORE_PORTS) continue;
      throw new MeshError("start", `the console cannot be served: ${errorMessage(thrown)}`, { cause: thrown });
    }
  }
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}
