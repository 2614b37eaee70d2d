import { useSignal } from "@preact/signals";
import { milliseconds, percent, rate } from "../format.ts";
import { endName } from "../inspector/node-panel.tsx";
import { model } from "../state/replay.ts";
import { select, selection } from "../state/selection.ts";
import { Icon } from "../ui/icons.tsx";
import type { Link } from "./graph-model.ts";

const COLUMNS = [
  { name: "rps", text: "Requests/s", value: (link: Link) => link.edge.rps },
  { name: "errors", text: "Errors", value: (link: Link) => link.edge.errorShare },
  { name: "p50", text: "p50", value: (link: Link) => link.edge.p50Ms ?? -1 },
  { name: "p99", text: "p99", value: (link: Link) => link.edge.p99Ms ?? -1 },
] as const;
type Column = (typeof COLUMNS)[number]["name"];

/** The graph as a table: for screen readers, narrow windows, and to see the worst edge first. */
export function TrafficTable() {
  const sorted = useSignal<Column>("rps");
  const column = COLUMNS.find((candidate) => candidate.name === sorted.value) ?? COLUMNS[0];
  const links = [...model.value.links].sort((a, b) => column.value(b) - column.value(a) || (a.id < b.id ? -1 : 1));
  return (
    <div class="page">
      <header class="page-head">
        <h2>Traffic</h2>
        <p class="quiet">Every edge of the graph.</p>
      </header>
      <div class="table-scroll">
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Caller</th>
              <th scope="col">Called</th>
              <th scope="col">Mutual TLS</th>
              {COLUMNS.map(({ name, text }) => (
                <th key={name} scope="col" class="number" aria-sort={sorted.value === name ? "descending" : "none"}>
                  <button
                    type="button"
                    class={`link ${sorted.value === name ? "on" : ""}`}
                    onClick={() => {
                      sorted.value = name;
                    }}
                  >
                    {text}
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {links.map((link) => (
              <tr key={link.id} class={selection.value.kind === "edge" && selection.value.id === link.id ? "on" : ""}>
                <th scope="row">
                  <button type="button" class="link" onClick={() => select({ kind: "edge", id: link.id })}>
                    {endName(link, "from")}
                  </button>
                </th>
                <td>
                  <button type="button" class="link" onClick={() => select({ kind: "node", id: link.to })}>
                    {endName(link, "to")}
                  </button>
                </td>
                <td>
                  {link.edge.mtlsShare === undefined ? (
                    <span class="quiet">–</span>
                  ) : (
                    <span class={link.edge.mtlsShare >= 0.999 ? "tone-ok" : "tone-warn"}>
                      <Icon name={link.edge.mtlsShare >= 0.999 ? "lock" : "unlock"} size={13} />{" "}
                      {percent(link.edge.mtlsShare)}
                    </span>
                  )}
                </td>
                <td class="number">{rate(link.edge.rps)}</td>
                <td class={`number ${link.edge.errorShare > 0 ? "bad" : ""}`}>{percent(link.edge.errorShare)}</td>
                <td class="number">{link.edge.p50Ms === undefined ? "–" : milliseconds(link.edge.p50Ms)}</td>
                <td class="number">{link.edge.p99Ms === undefined ? "–" : milliseconds(link.edge.p99Ms)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}
