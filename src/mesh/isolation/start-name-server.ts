import { createSocket } from "node:dgram";
import type { NetworkPlan } from "../core/mesh-plan.ts";

const HEADER_BYTES = 12;
const DNS_PORT = 53;

/**
 * Stands behind the agents' DNS: names of the mesh never come here, and nothing else can be reached from the namespaces, so that no
 * other name exists. Without an answer every lookup of such a name would take seconds.
 */
export async function startNameServer({ hostAddress }: NetworkPlan): Promise<{ stop(): Promise<void> }> {
  const socket = createSocket("udp4");
  socket.on("message", (query, { address, port }) => {
    const answer = nameError(query);
    if (answer !== undefined) socket.send(answer, port, address);
  });
  await new Promise<void>((ready, failed) => {
    socket.once("error", failed);
    socket.bind(DNS_PORT, hostAddress, ready);
  });
  socket.on("error", () => undefined);
  return { stop: () => new Promise((closed) => socket.close(() => closed())) };
}

/** "There is no such name", to a query with one question; undefined for what is no query. */
export function nameError(query: Buffer): Buffer | undefined {
  if (query.length <= HEADER_BYTES || query.readUInt8(2) >= 0x80 || query.readUInt16BE(4) !== 1) return undefined;
  let end = HEADER_BYTES;
  while (end < query.length && query.readUInt8(end) !== 0) end += query.readUInt8(end) + 1;
  // The zero of the root, type and class.
  end += 5;
  if (end > query.length) return undefined;
  const answer = Buffer.from(query.subarray(0, end));
  // A response that recursion was asked of; RCODE 3. Records that stood behind the question are gone.
  answer.writeUInt8(0x80 | (query.readUInt8(2) & 0x79), 2);
  answer.writeUInt8(0x83, 3);
  answer.fill(0, 6, HEADER_BYTES);
  return answer;
}
