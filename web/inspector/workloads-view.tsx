import type { PartState } from "../../src/console/api.ts";
import { meshState, snapshot } from "../state/live.ts";
import { select, selection } from "../state/selection.ts";
import { Badge } from "../ui/bits.tsx";

export function WorkloadsView() {
  const list = meshState.value?.workloads ?? [];
  const stale = new Map((snapshot.value?.stale ?? []).map((entry) => [entry.workload, entry.reason]));
  return (
    <div class="page">
      <header class="page-head">
        <h2>Workloads</h2>
        <p class="quiet">Every program with its agent and its Envoy.</p>
      </header>
      <div class="table-scroll">
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Workload</th>
              <th scope="col">Service</th>
              <th scope="col">Kind</th>
              <th scope="col">Ready</th>
              <th scope="col">Application</th>
              <th scope="col">Agent</th>
              <th scope="col">Envoy</th>
              <th scope="col" class="number">
                Restarts
              </th>
            </tr>
          </thead>
          <tbody>
            {list.map((workload) => (
              <tr
                key={workload.id}
                class={selection.value.kind === "workload" && selection.value.id === workload.id ? "on" : ""}
              >
                <th scope="row">
                  <button type="button" class="link" onClick={() => select({ kind: "workload", id: workload.id })}>
                    {workload.name}
                  </button>
                </th>
                <td>
                  {workload.service ?? "–"} {workload.version !== undefined && <small>{workload.version}</small>}
                </td>
                <td>{workload.kind}</td>
                <td>
                  <Badge tone={workload.ready ? "ok" : "bad"}>{workload.ready ? "ready" : "not ready"}</Badge>
                  {workload.reasons.length > 0 && <p class="quiet">{workload.reasons.join("; ")}</p>}
                  {stale.has(workload.id) && <p class="quiet">no figures: {stale.get(workload.id)}</p>}
                </td>
                <Part state={workload.app} />
                <Part state={workload.agent} />
                <Part state={workload.envoy} />
                <td class="number">
                  {(workload.app?.restarts ?? 0) + (workload.agent?.restarts ?? 0) + (workload.envoy?.restarts ?? 0)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        {list.length === 0 && <p class="empty">No workloads.</p>}
      </div>
    </div>
  );
}

function Part({ state }: { readonly state: PartState | undefined }) {
  if (state === undefined) return <td class="quiet">–</td>;
  return <td class={state.phase === "running" ? "" : "tone-bad"}>{state.phase}</td>;
}
