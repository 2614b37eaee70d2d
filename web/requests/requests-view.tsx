import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { RequestEvents, RequestLine } from "../../src/console/api.ts";
import { clock, milliseconds, plural } from "../format.ts";
import { subscribe } from "../state/api.ts";
import { meshState } from "../state/live.ts";
import { model } from "../state/replay.ts";
import { type RequestFilter, requestFilter } from "../state/selection.ts";
import { Badge, Facts, Identity, type Tone } from "../ui/bits.tsx";
import { Icon } from "../ui/icons.tsx";

const KEPT = 300;

/** Requests as they pass. Nothing is asked for while the view is closed or stands still. */
export function RequestsView() {
  const requests = useSignal<readonly RequestLine[]>([]);
  const skipped = useSignal(0);
  const isPaused = useSignal(false);
  const chosen = useSignal<RequestLine | undefined>(undefined);
  const filter = requestFilter.value;
  useEffect(() => {
    if (isPaused.value) return;
    const query = new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== ""));
    const subscription = subscribe<RequestEvents>(`/api/requests?${query}`, {
      requests: (batch) => {
        // Workloads report apart from each other: newest first over all of them.
        requests.value = [...batch.requests, ...requests.value].sort((a, b) => b.at - a.at).slice(0, KEPT);
        skipped.value += batch.skipped;
      },
    });
    return () => subscription.close();
  }, [JSON.stringify(filter), isPaused.value]);
  const change = (next: Partial<RequestFilter>) => {
    requestFilter.value = { ...filter, ...next };
    requests.value = [];
    skipped.value = 0;
    chosen.value = undefined;
  };
  return (
    <div class="page requests">
      <header class="page-head">
        <h2>Requests</h2>
        <Filters filter={filter} onChange={change} />
        <span class="toolbar-gap" />
        <button
          type="button"
          class="button small"
          aria-pressed={isPaused.value}
          onClick={() => {
            isPaused.value = !isPaused.value;
          }}
        >
          <Icon name={isPaused.value ? "play" : "pause"} /> {isPaused.value ? "Go on" : "Pause"}
        </button>
      </header>
      {skipped.value > 0 && (
        <p class="quiet">{plural(skipped.value, "request")} passed without being shown: this is a sample.</p>
      )}
      <div class="table-scroll">
        <table class="table request-table">
          <thead>
            <tr>
              <th scope="col">Time</th>
              <th scope="col">Workload</th>
              <th scope="col">Caller</th>
              <th scope="col">Request</th>
              <th scope="col">To</th>
              <th scope="col">Status</th>
              <th scope="col" class="number">
                Took
              </th>
            </tr>
          </thead>
          <tbody>
            {requests.value.map((request) => (
              <RequestRow
                key={`${request.at} ${request.requestId ?? ""} ${request.workload} ${request.direction} ${request.path}`}
                request={request}
                isOpen={chosen.value === request}
                onOpen={() => {
                  chosen.value = chosen.value === request ? undefined : request;
                }}
              />
            ))}
          </tbody>
        </table>
        {requests.value.length === 0 && (
          <p class="empty">
            {isPaused.value ? "Paused." : "Waiting for requests. Only workloads with an Envoy show theirs."}
          </p>
        )}
      </div>
    </div>
  );
}

function Filters({
  filter,
  onChange,
}: {
  readonly filter: RequestFilter;
  readonly onChange: (next: Partial<RequestFilter>) => void;
}) {
  const workloads = meshState.value?.workloads ?? [];
  const services = model.value.cards.filter((card) => card.node.kind === "service" || card.node.kind === "external");
  const targets = services.flatMap((card) => {
    const name = card.node.service ?? card.node.label;
    return [name, ...card.rows.map((row) => `${name}:${row.label}`)];
  });
  return (
    <div class="button-row">
      <select
        aria-label="Workload"
        value={filter.workload}
        onChange={(event) => onChange({ workload: event.currentTarget.value })}
      >
        <option value="">all workloads</option>
        {workloads.map((workload) => (
          <option key={workload.id} value={workload.id}>
            {workload.name}
          </option>
        ))}
      </select>
      <select
        aria-label="Direction"
        value={filter.direction}
        onChange={(event) => onChange({ direction: event.currentTarget.value as RequestFilter["direction"] })}
      >
        <option value="">in and out</option>
        <option value="inbound">inbound</option>
        <option value="outbound">outbound</option>
      </select>
      <select
        aria-label="Called service"
        value={filter.to}
        onChange={(event) => onChange({ to: event.currentTarget.value })}
      >
        <option value="">to any service</option>
        {targets.map((target) => (
          <option key={target} value={target}>
            to {target.replace(":", " ")}
          </option>
        ))}
      </select>
    </div>
  );
}

function RequestRow(props: { readonly request: RequestLine; readonly isOpen: boolean; readonly onOpen: () => void }) {
  const { request } = props;
  return (
    <>
      <tr class={props.isOpen ? "on" : ""}>
        <td class="nowrap">{clock(request.at)}</td>
        <td class="nowrap">
          {request.workload.split("/").at(-1)}{" "}
          <small class="quiet">{request.direction === "inbound" ? "in" : "out"}</small>
        </td>
        <td class="nowrap">
          {request.caller === undefined ? <span class="quiet">–</span> : <Caller id={request.caller} />}
        </td>
        <td>
          <button type="button" class="link request-link" aria-expanded={props.isOpen} onClick={props.onOpen}>
            <b>{request.method}</b> {request.path}
          </button>
        </td>
        <td class="nowrap">
          {request.service ?? request.host} {request.version !== undefined && <small>{request.version}</small>}
        </td>
        <td>
          <Badge tone={statusTone(request.status)}>{request.status === 0 ? "none" : request.status}</Badge>
          {request.flagText !== "" && <small class="flag">{request.flagText}</small>}
        </td>
        <td class="nowrap number">{milliseconds(request.durationMs)}</td>
      </tr>
      {props.isOpen && (
        <tr class="request-detail">
          <td colSpan={7}>
            <Facts
              facts={[
                ["Host", request.host],
                ["Protocol", request.protocol],
                ["Response flags", request.flags],
                ["Details", request.details],
                ["Upstream", request.upstreamAddress],
                ["Upstream took", request.upstreamMs === undefined ? undefined : milliseconds(request.upstreamMs)],
                ["Downstream", request.downstreamAddress],
                ["Bytes", `${request.receivedBytes} in, ${request.sentBytes} out`],
                ["Caller", request.caller],
                ["Request id", request.requestId],
              ]}
            />
          </td>
        </tr>
      )}
    </>
  );
}

function Caller({ id }: { readonly id: string }) {
  return id.startsWith("spiffe:") ? <Identity id={id} /> : <span>{id}</span>;
}

function statusTone(status: number): Tone {
  if (status === 0 || status >= 500) return "bad";
  if (status >= 400) return "warn";
  return "ok";
}
