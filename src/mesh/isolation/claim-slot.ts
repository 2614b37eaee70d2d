import type { Isolation } from "../core/mesh-plan.ts";
import { namespaceNetwork, SLOTS } from "../core/plan-addresses.ts";
import { MeshError } from "../mesh-error.ts";
import { closeListener, listen } from "../process/free-ports.ts";
import { isNetworkTaken } from "./namespaces.ts";

/** A network of the machine that this process has to itself. */
export interface SlotClaim {
  readonly slot: number;
  release(): Promise<void>;
}

const CLAIM_PORT = 15_999;

/**
 * Meshes agree by a port on a loopback address of the slot: only one can listen there, and the kernel gives it back whatever becomes of
 * the process. A mesh tries the same slot first every time, so that its addresses stay.
 */
export async function claimSlot(name: string, isolation: Isolation): Promise<SlotClaim> {
  const first = [...name].reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % SLOTS, 7);
  for (let tries = 0; tries < SLOTS; tries += 1) {
    const slot = (first + tries) % SLOTS;
    const claim = await listen(CLAIM_PORT, `127.${64 + slot}.255.254`).catch(() => undefined);
    if (claim === undefined) continue;
    // No message is expected here, and a client that stayed connected would keep the mesh from ending.
    claim.on("connection", (socket) => socket.destroy());
    const release = () => closeListener(claim);
    // What a killed mesh left behind is its own to remove.
    if (isolation === "namespaces" && isNetworkTaken(namespaceNetwork(slot).plan)) {
      await release();
      continue;
    }
    claim.unref();
    return { slot, release };
  }
  throw new MeshError("address-taken", `all ${SLOTS} networks for meshes on this machine are taken`);
}
