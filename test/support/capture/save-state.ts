/** Rule lines by table and chain, as the reference's state check sees them: four tables, foreign chains only when they have rules. */
export type SaveState = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

const TABLES = ["filter", "nat", "mangle", "raw"] as const;

/** Reads the output of `iptables-save` as well as a restore text. */
export function parseSaveState(text: string): SaveState {
  const state: Record<string, Record<string, string[]>> = Object.fromEntries(TABLES.map((table) => [table, {}]));
  let chains: Record<string, string[]> | undefined;
  const chainOf = (name: string) => {
    if (chains === undefined) return undefined;
    chains[name] ??= [];
    return chains[name];
  };
  for (const raw of text.split("\n")) {
    const line = raw.trim();
    if (line === "" || line.startsWith("#") || line === "COMMIT") continue;
    if (line.startsWith("*")) chains = state[line.slice(1).trim()];
    else if (line.startsWith(":ISTIO")) chainOf(line.slice(1).split(" ")[0] ?? "");
    else if (!line.startsWith(":")) {
      const words = line.replaceAll('"', "").split(/\s+/);
      const at = words.findIndex((word) => ["-A", "--append", "-I", "--insert", "-N", "--new"].includes(word));
      const name = words[at + 1];
      if (at === -1 || name === undefined) continue;
      if (words[at]?.startsWith("-N") || words[at] === "--new") {
        if (name.startsWith("ISTIO")) chainOf(name);
      } else chainOf(name)?.push(words.join(" "));
    }
  }
  return state;
}
