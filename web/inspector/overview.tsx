import type { Action } from "../../src/console/api.ts";
import { Preview } from "../actions/action-form.tsx";
import { ChangeItem } from "../actions/changes-view.tsx";
import { draft, prepare } from "../actions/draft.ts";
import { presentWeights, rebalance } from "../actions/weights.ts";
import { percent, plural, rate } from "../format.ts";
import { actions, meshState, session } from "../state/live.ts";
import { guideSeen } from "../state/preferences.ts";
import { model, totals } from "../state/replay.ts";
import { select, show } from "../state/selection.ts";
import { Figure, Section } from "../ui/bits.tsx";
import { Icon, type IconName } from "../ui/icons.tsx";

/** The mesh as a whole, and for who is new here what a sidecar does. */
export function Overview() {
  const total = totals.value.at(-1);
  const workloads = meshState.value?.workloads ?? [];
  const ready = workloads.filter((workload) => workload.ready).length;
  const links = model.value.links.filter((link) => link.edge.mtlsShare !== undefined);
  const locked = links.filter((link) => (link.edge.mtlsShare ?? 0) >= 0.999).length;
  const active = actions.value.actions.filter((action) => action.state === "active");
  return (
    <div class="panel">
      <header class="panel-head">
        <h2>{session.value?.name ?? "Mesh"}</h2>
        <p class="quiet">{plural(model.value.cards.length, "service")} and callers</p>
      </header>
      <div class="figures">
        <Figure label="requests a second" value={rate(total?.rps ?? 0)} />
        <Figure
          label="errors"
          value={percent(total?.errorShare ?? 0)}
          {...((total?.errorShare ?? 0) > 0 ? { tone: "bad" as const } : {})}
        />
        <Figure
          label="workloads ready"
          value={`${ready}/${workloads.length}`}
          {...(ready < workloads.length ? { tone: "warn" as const } : {})}
        />
        <Figure label="edges with mutual TLS" value={links.length === 0 ? "–" : percent(locked / links.length)} />
      </div>
      {!guideSeen.value && <Guide />}
      {active.length > 0 && (
        <Section title="In force">
          <ul class="change-list">
            {active.map((action) => (
              <li key={action.id}>
                <ChangeItem action={action} />
              </li>
            ))}
          </ul>
        </Section>
      )}
      <MeshActions />
      <NotReady />
    </div>
  );
}

function Guide() {
  return (
    <section class="guide">
      <header class="section-head">
        <h3>What you see</h3>
        <button
          type="button"
          class="icon-button"
          aria-label="Hide the explanation"
          onClick={() => {
            guideSeen.value = true;
          }}
        >
          <Icon name="close" />
        </button>
      </header>
      <RequestPath from="caller" to="service" locked={true} />
      <p>
        Beside every program runs a <b>sidecar</b>: an Envoy that all its requests pass through, kept by an agent. The
        programs know nothing of it. The sidecars encrypt, check who calls, count, retry and choose versions, and do
        what the <b>control plane</b> tells them.
      </p>
      <Tries />
    </section>
  );
}

/** One request, hop by hop. */
export function RequestPath(props: { readonly from: string; readonly to: string; readonly locked: boolean }) {
  return (
    <div
      class="request-path"
      role="img"
      aria-label={`${props.from}, its Envoy, ${props.locked ? "mutual TLS" : "plain text"}, the Envoy of ${props.to}, ${props.to}`}
    >
      <span class="hop">{props.from}</span>
      <span class="hop hop-envoy">Envoy</span>
      <span class={`wire ${props.locked ? "wire-locked" : ""}`}>
        <Icon name={props.locked ? "lock" : "unlock"} size={14} />
        {props.locked ? "mutual TLS" : "plain text"}
      </span>
      <span class="hop hop-envoy">Envoy</span>
      <span class="hop">{props.to}</span>
    </div>
  );
}

interface Try {
  readonly icon: IconName;
  readonly text: string;
  readonly action: Action;
  /** The card whose panel shows the preview. */
  readonly card?: string;
}

function Tries() {
  const known = session.value?.features.actions ?? [];
  const tries = findTries().filter((item) => known.includes(item.action.kind));
  if (tries.length === 0) return null;
  return (
    <>
      <h4>Try it</h4>
      <ul class="tries">
        {tries.map((item) => (
          <li key={item.text}>
            <button
              type="button"
              class="button try"
              onClick={() => {
                if (item.card !== undefined) select({ kind: "node", id: item.card });
                prepare(item.action);
              }}
            >
              <Icon name={item.icon} />
              <span>{item.text}</span>
              <Icon name="arrow" size={14} />
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

/** One of each kind, with the names of this mesh. */
function findTries(): readonly Try[] {
  const { cards } = model.value;
  const services = cards.filter((card) => card.node.kind === "service");
  const versioned = services.find((card) => card.rows.length > 1);
  const called = services.find((card) => card.rows.length === 0 && card.inRps > 0 && card.node.entry !== true);
  const victim = meshState.value?.workloads.find(
    (workload) => workload.kind === "sidecar" && workload.service !== undefined,
  );
  const list: Try[] = [];
  if (versioned !== undefined) {
    const service = versioned.node.service ?? versioned.node.label;
    const second = versioned.rows[1]?.label ?? "";
    list.push({
      icon: "sliders",
      text: `Send 20% of ${versioned.node.label} to ${second}`,
      card: versioned.id,
      action: {
        kind: "shift",
        service,
        namespace: versioned.node.namespace,
        weights: rebalance(presentWeights(versioned.rows), second, 20),
      },
    });
  }
  if (called !== undefined)
    list.push({
      icon: "alert",
      text: `Let half of the requests to ${called.node.label} fail`,
      card: called.id,
      action: {
        kind: "abort",
        service: called.node.service ?? called.node.label,
        namespace: called.node.namespace,
        status: 503,
        percent: 50,
      },
    });
  if (victim !== undefined)
    list.push({
      icon: "zap",
      text: `Kill the Envoy of ${victim.name}`,
      action: { kind: "kill-envoy", workload: victim.id },
    });
  list.push({
    icon: "power",
    text: "Stop the control plane and see traffic go on",
    action: { kind: "stop-control-plane" },
  });
  return list;
}

/** Actions on no service in particular. */
function MeshActions() {
  const known = session.value?.features.actions ?? [];
  const open = draft.value;
  const isMeshWide =
    open !== undefined &&
    (open.kind === "stop-control-plane" ||
      open.kind === "start-control-plane" ||
      open.kind === "kill-envoy" ||
      (open.kind === "strict-mtls" && open.service === undefined));
  const isStopped = meshState.value?.controlPlane.phase === "stopped";
  const control: Action = { kind: isStopped ? "start-control-plane" : "stop-control-plane" };
  const namespace = session.value?.namespace ?? "";
  const strict: Action = { kind: "strict-mtls", namespace };
  return (
    <Section title="The whole mesh">
      <div class="button-row">
        {known.includes(control.kind) && (
          <button type="button" class="button" onClick={() => prepare(control)}>
            <Icon name={isStopped ? "play" : "power"} /> {isStopped ? "Start" : "Stop"} the control plane
          </button>
        )}
        {known.includes("strict-mtls") && (
          <button type="button" class="button" onClick={() => prepare(strict)}>
            <Icon name="lock" /> Strict mutual TLS in {namespace}
          </button>
        )}
        <button type="button" class="button" onClick={() => show("objects")}>
          <Icon name="code" /> Objects
        </button>
        {guideSeen.value && (
          <button
            type="button"
            class="button"
            onClick={() => {
              guideSeen.value = false;
            }}
          >
            <Icon name="info" /> What you see
          </button>
        )}
      </div>
      {isMeshWide && open !== undefined && (
        <div class="action-body">
          <Preview action={open} />
        </div>
      )}
    </Section>
  );
}

function NotReady() {
  const list = (meshState.value?.workloads ?? []).filter((workload) => !workload.ready);
  if (list.length === 0) return null;
  return (
    <Section title="Not ready">
      <ul class="plain-list">
        {list.map((workload) => (
          <li key={workload.id}>
            <button type="button" class="link" onClick={() => select({ kind: "workload", id: workload.id })}>
              {workload.name}
            </button>
            <p class="quiet">{workload.reasons.join("; ")}</p>
          </li>
        ))}
      </ul>
    </Section>
  );
}
