import type { GraphEdge, GraphNode, GraphSnapshot } from "../../src/console/api.ts";

/** A version of a service: a row of its card. */
export interface Row {
  readonly id: string;
  readonly label: string;
  readonly node: GraphNode;
  readonly rps: number;
  /** Of what the service's versions get together, as measured. */
  readonly share: number;
  /** In percent, as rules say. */
  readonly weight: number | undefined;
  readonly errorShare: number;
}

/** A service with its versions, or something that stands alone: what is drawn as one box. */
export interface Card {
  readonly id: string;
  readonly node: GraphNode;
  /** Only where there are several. */
  readonly rows: readonly Row[];
  /** Ids of all nodes that are drawn as this card. */
  readonly members: readonly string[];
  readonly workloads: readonly string[];
  readonly inRps: number;
  readonly errorShare: number;
  readonly isIdle: boolean;
  readonly height: number;
}

/** An edge between two cards; rows are indexes into their card's, -1 for the card itself. */
export interface Link {
  readonly id: string;
  readonly edge: GraphEdge;
  readonly from: string;
  readonly fromRow: number;
  readonly to: string;
  readonly toRow: number;
}

export interface GraphModel {
  readonly cards: readonly Card[];
  readonly links: readonly Link[];
}

export const HEADER_HEIGHT = 58;
export const ROW_HEIGHT = 30;
const ROWS_PADDING = 8;

export function buildGraphModel(snapshot: GraphSnapshot): GraphModel {
  const nodes = new Map(snapshot.nodes.map((node) => [node.id, node]));
  const rootOf = (id: string): GraphNode | undefined => {
    let node = nodes.get(id);
    for (let depth = 0; node?.parent !== undefined && nodes.has(node.parent) && depth < 4; depth++)
      node = nodes.get(node.parent);
    return node;
  };
  const versionOf = (id: string): string | undefined => {
    const node = nodes.get(id);
    if (node === undefined || node.kind === "version") return node?.id;
    return node.parent === undefined ? undefined : nodes.get(node.parent)?.kind === "version" ? node.parent : undefined;
  };
  const members = new Map<string, GraphNode[]>();
  for (const node of snapshot.nodes) {
    const root = rootOf(node.id);
    if (root !== undefined) members.set(root.id, [...(members.get(root.id) ?? []), node]);
  }
  const cards = [...members].flatMap(([id, own]) => {
    const node = nodes.get(id);
    return node === undefined ? [] : [buildCard(node, own, snapshot.edges)];
  });
  const byId = new Map(cards.map((card) => [card.id, card]));
  const links = snapshot.edges.flatMap((edge): Link[] => {
    const [from, to] = [byId.get(rootOf(edge.from)?.id ?? ""), byId.get(rootOf(edge.to)?.id ?? "")];
    if (from === undefined || to === undefined) return [];
    const row = (card: Card, id: string) => card.rows.findIndex((candidate) => candidate.id === versionOf(id));
    return [{ id: edge.id, edge, from: from.id, fromRow: row(from, edge.from), to: to.id, toRow: row(to, edge.to) }];
  });
  return { cards: cards.sort((a, b) => (a.id < b.id ? -1 : 1)), links };
}

function buildCard(node: GraphNode, members: readonly GraphNode[], edges: readonly GraphEdge[]): Card {
  const ids = new Set(members.map((member) => member.id));
  const incoming = edges.filter((edge) => ids.has(edge.to));
  const versions = members.filter((member) => member.kind === "version").sort(byVersion);
  const toVersion = (version: GraphNode) => {
    const own = new Set(members.filter((m) => m.id === version.id || m.parent === version.id).map((m) => m.id));
    return incoming.filter((edge) => own.has(edge.to));
  };
  const total = sum(versions.flatMap((version) => toVersion(version).map((edge) => edge.rps)));
  const rows =
    versions.length < 2
      ? []
      : versions.map((version): Row => {
          const own = toVersion(version);
          const rps = sum(own.map((edge) => edge.rps));
          return {
            id: version.id,
            label: version.label,
            node: version,
            rps,
            share: total === 0 ? 0 : rps / total,
            weight: own.find((edge) => edge.weight !== undefined)?.weight,
            errorShare: errorsOf(own),
          };
        });
  const touching = edges.filter((edge) => ids.has(edge.to) || ids.has(edge.from));
  return {
    id: node.id,
    node,
    rows,
    members: [...ids],
    workloads: [...new Set(members.flatMap((member) => member.workloads))].sort(),
    inRps: sum(incoming.map((edge) => edge.rps)),
    errorShare: errorsOf(incoming),
    isIdle: touching.every((edge) => edge.rps === 0 && edge.openConnections === 0),
    height: HEADER_HEIGHT + (rows.length === 0 ? 0 : rows.length * ROW_HEIGHT + ROWS_PADDING),
  };
}

/** Weighted by requests: a caller with one failed request of one is not half of the picture. */
function errorsOf(edges: readonly GraphEdge[]): number {
  const all = sum(edges.map((edge) => edge.rps));
  return all === 0 ? 0 : sum(edges.map((edge) => edge.rps * edge.errorShare)) / all;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** v2 before v10. */
function byVersion(a: GraphNode, b: GraphNode): number {
  return a.label.localeCompare(b.label, "en", { numeric: true });
}

export interface GraphFilter {
  readonly hidden: readonly string[];
  readonly hideIdle: boolean;
}

export function filterGraph({ cards, links }: GraphModel, filter: GraphFilter): GraphModel {
  const shown = cards.filter((card) => !filter.hidden.includes(card.id) && !(filter.hideIdle && card.isIdle));
  const ids = new Set(shown.map((card) => card.id));
  return { cards: shown, links: links.filter((link) => ids.has(link.from) && ids.has(link.to)) };
}

/** Cards that a search means: by name, namespace, version, workload or identity. Empty text means all. */
export function matches(card: Card, text: string): boolean {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return true;
  const { label, namespace, host = "", kind, identities = [] } = card.node;
  const words = [label, namespace, host, kind, ...identities, ...card.rows.map((row) => row.label), ...card.workloads];
  return words.some((word) => word.toLowerCase().includes(wanted));
}
