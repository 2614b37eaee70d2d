import { ServiceActions } from "../actions/action-form.tsx";
import type { Target } from "../actions/kinds.ts";
import { presentWeights } from "../actions/weights.ts";
import { milliseconds, percent, rate } from "../format.ts";
import type { Card, Link } from "../graph/graph-model.ts";
import { meshState, session } from "../state/live.ts";
import { hidden } from "../state/preferences.ts";
import { model } from "../state/replay.ts";
import { requestFilter, select, show } from "../state/selection.ts";
import { Badge, Facts, Figure, Identity, Section } from "../ui/bits.tsx";
import { Icon } from "../ui/icons.tsx";

export function NodePanel({ card, id }: { readonly card: Card; readonly id: string }) {
  const { node } = card;
  const row = card.rows.find((candidate) => candidate.id === id);
  const { links } = model.value;
  const incoming = links.filter((link) => link.to === card.id && (row === undefined || link.edge.to === row.id));
  const outgoing = links.filter((link) => link.from === card.id && (row === undefined || link.edge.from === row.id));
  const rps = incoming.reduce((sum, link) => sum + link.edge.rps, 0);
  const slowest = Math.max(0, ...incoming.map((link) => link.edge.p99Ms ?? 0));
  const errorShare = row?.errorShare ?? card.errorShare;
  const identities = (row?.node ?? node).identities ?? [];
  return (
    <div class="panel">
      <header class="panel-head">
        <p class="kicker">
          {node.kind === "external" ? "outside the mesh" : node.kind}
          {node.namespace !== "" && ` in ${node.namespace}`}
        </p>
        <h2>
          {node.label} {row !== undefined && <Badge tone="info">{row.label}</Badge>}
        </h2>
        {node.host !== undefined && node.host !== node.label && <p class="quiet">{node.host}</p>}
      </header>
      <div class="figures">
        <Figure label="requests a second" value={rate(rps)} />
        <Figure label="errors" value={percent(errorShare)} {...(errorShare > 0 ? { tone: "bad" as const } : {})} />
        <Figure label="slowest caller, p99" value={slowest === 0 ? "–" : milliseconds(slowest)} />
      </div>
      {node.reasons.length > 0 && (
        <div class="notice notice-bad">
          <Icon name="alert" />
          <span>{node.reasons.join("; ")}</span>
        </div>
      )}
      {node.kind === "service" && (
        <Section title="Actions">
          <ServiceActions target={targetOf(card, incoming)} />
        </Section>
      )}
      <Calls title="Called by" links={incoming} side="from" />
      <Calls title="Calls" links={outgoing} side="to" />
      <Workloads ids={row?.node.workloads ?? card.workloads} />
      {identities.length > 0 && (
        <Section title="Known to others as">
          <ul class="plain-list">
            {identities.map((identity) => (
              <li key={identity}>
                <Identity id={identity} />
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Facts
        facts={[
          ["Protocol", node.protocol],
          ["Entry", node.service && session.value?.entries[node.service]],
        ]}
      />
      <div class="button-row">
        <button
          type="button"
          class="button"
          onClick={() => {
            requestFilter.value = { workload: card.workloads[0] ?? "", direction: "inbound", to: "" };
            show("requests");
          }}
        >
          <Icon name="list" /> Requests
        </button>
        <button
          type="button"
          class="button"
          onClick={() => {
            hidden.value = [...hidden.value, card.id];
            select({ kind: "none" });
          }}
        >
          <Icon name="eye-off" /> Hide
        </button>
      </div>
    </div>
  );
}

function targetOf(card: Card, incoming: readonly Link[]): Target {
  const { node } = card;
  const callers = incoming.map((link) => model.value.cards.find((other) => other.id === link.from)?.node);
  return {
    service: node.service ?? node.label,
    namespace: node.namespace,
    versions: card.rows.length > 0 ? card.rows.map((row) => row.label) : (node.versions ?? []),
    weights: presentWeights(card.rows),
    callers: [...new Set(callers.flatMap((caller) => (caller === undefined ? [] : [caller.service ?? caller.label])))],
  };
}

function Calls(props: { readonly title: string; readonly links: readonly Link[]; readonly side: "from" | "to" }) {
  if (props.links.length === 0) return null;
  return (
    <Section title={props.title}>
      <ul class="calls">
        {props.links.map((link) => (
          <li key={link.id}>
            <button type="button" class="call" onClick={() => select({ kind: "edge", id: link.id })}>
              <span class="call-name">{endName(link, props.side)}</span>
              {(link.edge.mtlsShare ?? 0) >= 0.999 && (
                <span class="tone-ok" title="mutual TLS">
                  <Icon name="lock" size={12} />
                  <span class="hidden-text">mutual TLS</span>
                </span>
              )}
              <span class="call-figures">
                {rate(link.edge.rps)}/s
                {link.edge.p99Ms !== undefined && ` · ${milliseconds(link.edge.p99Ms)}`}
                {link.edge.errorShare > 0 && <b class="bad"> {percent(link.edge.errorShare)}</b>}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </Section>
  );
}

export function endName(link: Link, side: "from" | "to"): string {
  const card = model.value.cards.find((candidate) => candidate.id === link[side]);
  const row = card?.rows[side === "from" ? link.fromRow : link.toRow];
  return `${card?.node.label ?? link[side]}${row === undefined ? "" : ` ${row.label}`}`;
}

function Workloads({ ids }: { readonly ids: readonly string[] }) {
  const known = meshState.value?.workloads ?? [];
  const list = ids.map(
    (id) => known.find((workload) => workload.id === id) ?? { id, name: id, ready: true, reasons: [] },
  );
  if (list.length === 0) return null;
  return (
    <Section title="Workloads">
      <ul class="calls">
        {list.map((workload) => (
          <li key={workload.id}>
            <button type="button" class="call" onClick={() => select({ kind: "workload", id: workload.id })}>
              <span class={`dot ${workload.ready ? "dot-ok" : "dot-bad"}`} />
              <span class="call-name">{workload.name}</span>
              <span class="call-figures">{workload.ready ? "ready" : (workload.reasons[0] ?? "not ready")}</span>
              <Icon name="arrow" size={14} />
            </button>
          </li>
        ))}
      </ul>
    </Section>
  );
}
