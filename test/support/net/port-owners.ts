import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** Processes of this machine that listen on the port now, as far as this user may see them. */
export function portOwners(port: number): readonly number[] {
  const sockets = new Set(["tcp", "tcp6"].flatMap((family) => listeners(family, port)));
  if (sockets.size === 0) return [];
  const pids = namesIn("/proc").filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => descriptors(pid).some((target) => sockets.has(target))).map(Number);
}

/** `0: 0100007F:3A98 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 INODE`, of which 0A is LISTEN. */
function listeners(family: string, port: number): readonly string[] {
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const lines = readFileSync(`/proc/net/${family}`, "utf8").split("\n");
  return lines.flatMap((line) => {
    const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
    return local?.endsWith(wanted) && state === "0A" ? [`socket:[${inode}]`] : [];
  });
}

function descriptors(pid: string): readonly string[] {
  return namesIn(`/proc/${pid}/fd`).flatMap((name) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${name}`)];
    } catch {
      return [];
    }
  });
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
