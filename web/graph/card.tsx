import type { GraphNode } from "../../src/console/api.ts";
import { percent, plural, rate } from "../format.ts";
import { namespaces } from "../state/live.ts";
import { select, selection } from "../state/selection.ts";
import { Icon, type IconName } from "../ui/icons.tsx";
import type { Card, Row } from "./graph-model.ts";
import { CARD_WIDTH, type Position } from "./layout.ts";
import { dragging, hovered, layout, lit, moveCard, viewport } from "./scene.ts";

const KIND_ICONS: Readonly<Record<GraphNode["kind"], IconName>> = {
  service: "box",
  version: "box",
  workload: "server",
  external: "globe",
  gateway: "gateway",
  proxyless: "code",
  unknown: "info",
};

const KIND_WORDS: Readonly<Record<GraphNode["kind"], string>> = {
  service: "service",
  version: "version",
  workload: "workload",
  external: "outside the mesh",
  gateway: "gateway",
  proxyless: "gRPC without Envoy",
  unknown: "unknown caller",
};

/** Its place comes from whoever lists the cards: one that is not placed yet is not in the list at all. */
export function GraphCard({ card, at }: { readonly card: Card; readonly at: Position }) {
  const { node } = card;
  const isSelected = selection.value.kind === "node" && card.members.includes(selection.value.id);
  const isDimmed = lit.value !== undefined && !lit.value.has(card.id);
  const hasProblem = node.reasons.length > 0;
  const classes = ["card", `card-${node.kind}`];
  if (isSelected) classes.push("selected");
  if (isDimmed) classes.push("dimmed");
  if (hasProblem) classes.push("not-ready");
  if (card.errorShare >= 0.05) classes.push("failing");
  return (
    <div
      class={classes.join(" ")}
      data-card={card.id}
      style={{ transform: `translate(${at.x}px, ${at.y}px)`, width: `${CARD_WIDTH}px`, height: `${card.height}px` }}
      onPointerEnter={() => {
        hovered.value = { kind: "card", id: card.id };
      }}
      onPointerLeave={() => {
        hovered.value = undefined;
      }}
      onPointerDown={(event) => dragCard(event, card.id)}
    >
      <button
        type="button"
        class="card-head"
        aria-pressed={isSelected}
        onClick={() => select({ kind: "node", id: card.id })}
      >
        <span class="card-icon">
          <Icon name={KIND_ICONS[node.kind]} />
        </span>
        <span class="card-title">
          <span class="card-name" title={node.label}>
            {node.label}
          </span>
          <span class="card-sub">{subtitle(card)}</span>
        </span>
        <Readiness node={node} total={card.workloads.length} />
      </button>
      {card.rows.length > 0 && (
        <div class="card-rows">
          {card.rows.map((row, index) => (
            <VersionRow key={row.id} card={card} row={row} index={index} />
          ))}
        </div>
      )}
    </div>
  );
}

function subtitle(card: Card): string {
  const { node } = card;
  const words: string[] = [];
  if (node.kind !== "service") words.push(KIND_WORDS[node.kind]);
  else if (card.rows.length > 0) words.push(`${card.rows.length} versions`);
  else if (card.workloads.length > 1 || card.inRps === 0) words.push(plural(card.workloads.length, "workload"));
  if (namespaces.value.length > 1 && node.namespace !== "") words.unshift(node.namespace);
  if (card.inRps > 0) words.push(`${rate(card.inRps)}/s`);
  if (node.entry === true) words.push("entry");
  return words.join(" · ");
}

function Readiness({ node, total }: { readonly node: GraphNode; readonly total: number }) {
  if (total === 0) return null;
  const isReady = node.reasons.length === 0;
  const text = isReady ? "ready" : `not ready: ${node.reasons.join("; ")}`;
  return (
    <span class={`dot ${isReady ? "dot-ok" : "dot-bad"}`} title={text}>
      <span class="hidden-text">{text}</span>
    </span>
  );
}

function VersionRow({ card, row, index }: { readonly card: Card; readonly row: Row; readonly index: number }) {
  const drag = dragging.value?.card === card.id ? dragging.value.weights[row.label] : undefined;
  const share = drag === undefined ? row.share : drag / 100;
  const isSelected = selection.value.kind === "node" && selection.value.id === row.id;
  return (
    <button
      type="button"
      class={`card-row version-${index % 5} ${isSelected ? "selected" : ""}`}
      aria-pressed={isSelected}
      onClick={() => select({ kind: "node", id: row.id })}
    >
      <span class="row-name">
        <span class="hidden-text">{card.node.label} </span>
        {row.label}
      </span>
      <span class="row-bar">
        <span class="row-fill" style={{ width: `${share * 100}%` }} />
        {row.weight !== undefined && <span class="row-mark" style={{ left: `${row.weight}%` }} />}
      </span>
      <span class={`row-share ${row.errorShare >= 0.05 ? "bad" : ""}`}>{percent(share)}</span>
      <span class="hidden-text"> of requests</span>
    </button>
  );
}

/** Cards can be put where the user wants them; a click without a move selects. */
function dragCard(event: PointerEvent, id: string): void {
  if (event.button !== 0) return;
  event.stopPropagation();
  const start = layout.peek().get(id);
  if (start === undefined) return;
  const [x, y] = [event.clientX, event.clientY];
  let moved = false;
  const move = (next: PointerEvent) => {
    const { scale } = viewport.peek();
    const [dx, dy] = [(next.clientX - x) / scale, (next.clientY - y) / scale];
    if (!moved && Math.hypot(dx, dy) * scale < 5) return;
    moved = true;
    moveCard(id, { x: start.x + dx, y: start.y + dy });
  };
  const end = () => {
    removeEventListener("pointermove", move);
    removeEventListener("pointerup", end);
    removeEventListener("pointercancel", end);
    // The click that follows a move would select.
    if (moved) addEventListener("click", (click) => click.stopPropagation(), { capture: true, once: true });
  };
  addEventListener("pointermove", move);
  addEventListener("pointerup", end);
  addEventListener("pointercancel", end);
}
