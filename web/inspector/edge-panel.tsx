import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { GraphHistory } from "../../src/console/api.ts";
import { bytes, milliseconds, percent, rate } from "../format.ts";
import type { Link } from "../graph/graph-model.ts";
import { getJson } from "../state/api.ts";
import { session } from "../state/live.ts";
import { model } from "../state/replay.ts";
import { requestFilter, select, show } from "../state/selection.ts";
import { Facts, Figure, Section } from "../ui/bits.tsx";
import { Chart, type ChartPoint } from "../ui/chart.tsx";
import { Icon } from "../ui/icons.tsx";
import { endName } from "./node-panel.tsx";
import { RequestPath } from "./overview.tsx";

export function EdgePanel({ link }: { readonly link: Link }) {
  const { edge } = link;
  const target = model.value.cards.find((card) => card.id === link.to);
  const caller = model.value.cards.find((card) => card.id === link.from);
  const locked = (edge.mtlsShare ?? 0) >= 0.999;
  const [from, to] = [endName(link, "from"), endName(link, "to")];
  return (
    <div class="panel">
      <header class="panel-head">
        <p class="kicker">calls</p>
        <h2>
          {from} <Icon name="arrow" /> {to}
        </h2>
      </header>
      <RequestPath from={from} to={to} locked={locked} />
      <div class="figures">
        <Figure label="requests a second" value={rate(edge.rps)} />
        <Figure
          label="errors"
          value={percent(edge.errorShare)}
          {...(edge.errorShare > 0 ? { tone: "bad" as const } : {})}
        />
        <Figure label="median" value={edge.p50Ms === undefined ? "–" : milliseconds(edge.p50Ms)} />
        <Figure label="p99" value={edge.p99Ms === undefined ? "–" : milliseconds(edge.p99Ms)} />
      </div>
      <EdgeCharts id={link.id} />
      <Facts
        facts={[
          [
            "Mutual TLS",
            edge.mtlsShare === undefined ? "no connection yet" : `${percent(edge.mtlsShare)} of connections`,
          ],
          ["Share by rules", edge.weight === undefined ? undefined : `${edge.weight}%`],
          ["Answers of a fault rule", edge.faultShare > 0 ? percent(edge.faultShare) : undefined],
          ["Client errors (4xx)", edge.clientErrorShare > 0 ? percent(edge.clientErrorShare) : undefined],
          ["Retries", edge.retriesPerSecond > 0 ? `${rate(edge.retriesPerSecond)}/s` : undefined],
          [
            "Refused by circuit breakers",
            edge.overflowsPerSecond > 0 ? `${rate(edge.overflowsPerSecond)}/s` : undefined,
          ],
          ["Connections", `${edge.openConnections} open, ${rate(edge.connectionsPerSecond)} new a second`],
          ["Sent, received", `${bytes(edge.sentBytesPerSecond)}/s, ${bytes(edge.receivedBytesPerSecond)}/s`],
          ["Port", edge.port],
        ]}
      />
      <div class="button-row">
        {target !== undefined && (
          <button type="button" class="button" onClick={() => select({ kind: "node", id: target.id })}>
            <Icon name="sliders" /> Actions on {target.node.label}
          </button>
        )}
        {session.value?.features.requests === true && caller !== undefined && (
          <button
            type="button"
            class="button"
            onClick={() => {
              const row = target?.rows[link.toRow];
              const service = target?.node.service ?? target?.node.label ?? "";
              requestFilter.value = {
                workload: caller.workloads[0] ?? "",
                direction: "outbound",
                to: row === undefined ? service : `${service}:${row.label}`,
              };
              show("requests");
            }}
          >
            <Icon name="list" /> Requests
          </button>
        )}
      </div>
    </div>
  );
}

const REFRESH_MS = 5000;

function EdgeCharts({ id }: { readonly id: string }) {
  const history = useSignal<GraphHistory | undefined>(undefined);
  useEffect(() => {
    const abort = new AbortController();
    const load = async () => {
      try {
        history.value = await getJson<GraphHistory>("/api/history", abort.signal);
      } catch {
        // The next round tries again; the banner says when the server is away.
      }
    };
    void load();
    const timer = setInterval(() => void load(), REFRESH_MS);
    return () => {
      clearInterval(timer);
      abort.abort();
    };
  }, []);
  const past = history.value;
  const span = session.value?.historyMs ?? 600_000;
  if (past === undefined) return null;
  return (
    <Section title="Last ten minutes">
      <Chart label="requests a second" points={pointsOf(past, id, "rps")} spanMs={span} format={rate} />
      <Chart label="errors" points={pointsOf(past, id, "errorShare")} spanMs={span} tone="bad" format={percent} />
      <Chart label="median and p99" points={pointsOf(past, id, "p50Ms", "p99Ms")} spanMs={span} format={milliseconds} />
    </Section>
  );
}

type Column = GraphHistory["columns"][number];

function pointsOf(history: GraphHistory, id: string, column: Column, upper?: Column): readonly ChartPoint[] {
  const index = history.edges.findIndex((edge) => edge.id === id);
  const place = history.columns.indexOf(column);
  const above = upper === undefined ? -1 : history.columns.indexOf(upper);
  return history.frames.flatMap((frame): ChartPoint[] => {
    const values = frame.values[index];
    const value = values?.[place];
    if (value === null || value === undefined) return [];
    return [{ at: frame.at, value, ...(above === -1 ? {} : { upper: values?.[above] ?? undefined }) }];
  });
}
