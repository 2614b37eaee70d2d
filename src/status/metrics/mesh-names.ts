import { expandLabels, JOINED_LABELS, messagesOf } from "../../mesh-model/metric-labels.ts";
import type { FamilySink } from "../../protocol/prometheus/family-reader.ts";

/** Envoy puts this before every name. */
const PREFIX = "envoy_";
/** Metrics of the mesh, which dashboards know by their own names. */
const COUNTED = `${PREFIX}istio_`;

/** Which kind of series was beyond the budget that the control plane gives the mesh's metrics, and how many samples were lost so far. */
export type OnOverflow = (kind: string, lost: number) => void;

const OVERFLOW = `${PREFIX}server_stats_overflow_`;

/** Of Envoy's families those of the mesh lose Envoy's prefix and have their joined labels taken apart; all others pass as they are. */
export function withMeshNames(sink: FamilySink, onOverflow?: OnOverflow): MeshNames {
  let messages: MessageSums | undefined;
  const flush = () => {
    const bytes = messages?.toBytes();
    messages = undefined;
    if (bytes !== undefined && bytes.length > 0) sink.samples(bytes, 0, bytes.length);
  };
  let isCounted = false;
  let overflown = "";
  const expand = createExpand();
  return {
    end: flush,
    begin(family) {
      flush();
      isCounted = family.name.startsWith(COUNTED);
      overflown = family.name.startsWith(OVERFLOW) ? family.name.slice(OVERFLOW.length) : "";
      const [, direction] = MESSAGES.exec(family.name) ?? [];
      if (direction === "request" || direction === "response") messages = createMessageSums(direction, expand);
      sink.begin(isCounted ? { ...family, name: family.name.slice(PREFIX.length) } : family);
    },
    samples(bytes, start, end) {
      if (overflown !== "") {
        const lost = Number(/ ([\d.e+]+)\s*$/.exec(bytes.toString("latin1", start, end))?.[1]);
        if (lost > 0) onOverflow?.(overflown, lost);
      }
      if (!isCounted) return sink.samples(bytes, start, end);
      if (messages !== undefined) return messages.add(bytes.toString("latin1", start, end));
      const renamed = renameLines(bytes, start, end, expand);
      sink.samples(renamed, 0, renamed.length);
    },
  };
}

export interface MeshNames extends FamilySink {
  /** No more follows: what was added up is handed on. */
  end(): void;
}

type Expand = (joined: string) => string;

const MESSAGES = new RegExp(`^${COUNTED}(request|response)_messages_total$`);

interface MessageSums {
  add(lines: string): void;
  toBytes(): Buffer;
}

/** Calls are counted by how many messages they had; series that differ in nothing else are one. */
function createMessageSums(direction: "request" | "response", expand: Expand): MessageSums {
  const sums = new Map<string, number>();
  return {
    add(lines) {
      for (const line of lines.split("\n")) {
        const [, series = "", value = ""] = /^(.*\}) (\S+)/.exec(line) ?? [];
        const [, , joined = ""] = JOINED.exec(series) ?? [];
        if (series === "") continue;
        const key = separate(series.slice(PREFIX.length), expand);
        sums.set(key, (sums.get(key) ?? 0) + Number(value) * messagesOf(joined)[direction]);
      }
    },
    toBytes: () => Buffer.from([...sums].map(([series, sum]) => `${series} ${sum}\n`).join(""), "latin1"),
  };
}

/** Latin-1 keeps every byte. One text for all lines, so that a line costs no buffer of its own. */
function renameLines(bytes: Buffer, start: number, end: number, expand: Expand): Buffer {
  let renamed = "";
  for (let at = start; at < end; ) {
    const next = bytes.indexOf(0x0a, at) + 1;
    renamed += separate(bytes.toString("latin1", at + PREFIX.length, next), expand);
    at = next;
  }
  return Buffer.from(renamed, "latin1");
}

const JOINED = new RegExp(`([{,])${JOINED_LABELS}="((?:[^"\\\\]|\\\\.)*)"(,?)`);

function separate(line: string, expand: Expand): string {
  const found = JOINED.exec(line);
  if (found === null) return line;
  const [all, before, joined = "", comma] = found;
  const labels = expand(joined);
  const rest = line.slice(found.index + all.length);
  return `${line.slice(0, found.index)}${before}${labels}${labels === "" ? "" : comma}${rest}`;
}

/** Buckets of a histogram follow each other. */
function createExpand(): Expand {
  let last: { readonly joined: string; readonly text: string } | undefined;
  return (joined) => {
    if (last?.joined !== joined) {
      const pairs = [...expandLabels(joined)].map(([name, value]) => `${name}="${value}"`);
      last = { joined, text: pairs.join() };
    }
    return last.text;
  };
}
