import type { PartState, WorkloadDetail } from "../../src/console/api.ts";
import { ago, bytes, clock, duration, plural } from "../format.ts";
import { meshState, now } from "../state/live.ts";
import { Badge, Facts, Identity, Section, type Tone } from "../ui/bits.tsx";

const PHASES: Readonly<Record<PartState["phase"], Tone>> = {
  running: "ok",
  waiting: "warn",
  "crash-loop": "bad",
  stopped: "plain",
  unknown: "plain",
};

export function StateTab({ detail }: { readonly detail: WorkloadDetail }) {
  const live = meshState.value?.workloads.find((workload) => workload.id === detail.id) ?? detail;
  const { envoyState: envoy } = detail;
  return (
    <>
      <Section title="Processes">
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Part</th>
              <th scope="col">State</th>
              <th scope="col">Process</th>
              <th scope="col">Since</th>
              <th scope="col">Restarts</th>
            </tr>
          </thead>
          <tbody>
            <PartRow name="Application" state={live.app} />
            <PartRow name="Agent" state={live.agent} />
            <PartRow name="Envoy" state={live.envoy} />
          </tbody>
        </table>
      </Section>
      {detail.restarts.length > 0 && (
        <Section title="Restarts">
          <ul class="plain-list">
            {detail.restarts.map((restart) => (
              <li key={`${restart.at} ${restart.part}`}>
                <b>{restart.part}</b> {restart.reason} <span class="quiet">{ago(restart.at, now.value)}</span>
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Section title="Envoy">
        {envoy === undefined ? (
          <p class="quiet">{detail.missing.envoyState ?? "no Envoy"}</p>
        ) : (
          <Facts
            facts={[
              [
                "State",
                <Badge key="s" tone={envoy.state === "LIVE" ? "ok" : "warn"}>
                  {envoy.state}
                </Badge>,
              ],
              ["Version", envoy.version],
              ["Up for", duration(envoy.upMs)],
              ["Worker threads", envoy.concurrency],
              ["Memory", envoy.allocatedBytes === undefined ? undefined : bytes(envoy.allocatedBytes)],
              ["Open connections", envoy.openConnections],
            ]}
          />
        )}
      </Section>
      <Section title="Who it is">
        <Facts
          facts={[
            ["Identity", detail.identity === undefined ? undefined : <Identity key="i" id={detail.identity} />],
            ["Address", detail.address],
            ["Service account", detail.serviceAccount],
            ["Agent", detail.agentVersion],
            [
              "Labels",
              Object.entries(detail.labels)
                .map(([name, value]) => `${name}=${value}`)
                .join(", "),
            ],
            ["Ports", detail.ports.map(({ name, port }) => `${name} ${port}`).join(", ")],
          ]}
        />
      </Section>
    </>
  );
}

function PartRow({ name, state }: { readonly name: string; readonly state: PartState | undefined }) {
  if (state === undefined) return null;
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>
        <Badge tone={PHASES[state.phase]}>{state.phase}</Badge>
        {state.reason !== undefined && <p class="quiet">{state.reason}</p>}
      </td>
      <td>{state.pid ?? "–"}</td>
      <td>
        {state.sinceAt === undefined ? "–" : <span title={clock(state.sinceAt)}>{ago(state.sinceAt, now.value)}</span>}
      </td>
      <td data-restarts={name.toLowerCase()} title={plural(state.restarts, "restart")}>
        {state.restarts}
      </td>
    </tr>
  );
}
