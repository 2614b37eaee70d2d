import { connect } from "node:net";
import type { Isolation } from "../core/mesh-plan.ts";
import { namespaceNetwork, SLOTS } from "../core/plan-addresses.ts";
import { MeshError } from "../mesh-error.ts";
import { closeListener, listen } from "../process/free-ports.ts";
import { isNetworkTaken } from "./namespaces.ts";

const CLAIM_PORT = 15_999;

/** A network of the machine that this process has to itself. */
export interface SlotClaim {
  readonly slot: number;
  release(): Promise<void>;
}

/**
 * Meshes agree by a port on a loopback address of the slot: only one can listen there, and the kernel frees it with any end of
 * the process. A mesh tries the same slot first every time, so that its addresses stay.
 */
export async function claimSlot(name: string, isolation: Isolation): Promise<SlotClaim> {
  const first = [...name].reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % SLOTS, 7);
  for (let tries = 0; tries < SLOTS; tries += 1) {
    const slot = (first + tries) % SLOTS;
    const claim = await tryClaim(slot);
    if (claim === undefined) continue;
    // What a killed mesh left behind is its own to remove.
    if (isolation !== "namespaces" || !isNetworkTaken(namespaceNetwork(slot).plan)) return claim;
    await claim.release();
  }
  throw new MeshError("address-taken", `all ${SLOTS} networks for meshes on this machine are taken`);
}

/** Undefined while somebody else has it. */
export async function tryClaim(slot: number): Promise<SlotClaim | undefined> {
  const claim = await listen(CLAIM_PORT, claimAddress(slot)).catch(() => undefined);
  if (claim === undefined) return undefined;
  // No message is expected here, and a client that stayed connected would keep the mesh from ending.
  claim.on("connection", (socket) => socket.destroy());
  claim.unref();
  return { slot, release: () => closeListener(claim) };
}

/** Whether a mesh that runs has it; does not get in the way of one that starts. */
export function isClaimed(slot: number): Promise<boolean> {
  return new Promise((answer) => {
    const socket = connect(CLAIM_PORT, claimAddress(slot), () => {
      socket.destroy();
      answer(true);
    });
    socket.once("error", () => answer(false));
  });
}

function claimAddress(slot: number): string {
  return `127.${64 + slot}.255.254`;
}
