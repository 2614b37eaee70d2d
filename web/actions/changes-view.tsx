import type { AppliedAction } from "../../src/console/api.ts";
import { Differences } from "../editor/diff-view.tsx";
import { ago, clock, duration, percent, plural } from "../format.ts";
import { actions, now } from "../state/live.ts";
import { Badge, Fold, type Tone } from "../ui/bits.tsx";
import { Icon } from "../ui/icons.tsx";
import { undo } from "./draft.ts";

const STATES: Readonly<Record<AppliedAction["state"], { readonly tone: Tone; readonly text: string }>> = {
  active: { tone: "ok", text: "in force" },
  done: { tone: "plain", text: "done" },
  undone: { tone: "plain", text: "undone" },
  expired: { tone: "plain", text: "expired" },
  returned: { tone: "bad", text: "returned by itself" },
  superseded: { tone: "plain", text: "overwritten later" },
  failed: { tone: "bad", text: "failed" },
};

export function ChangesView() {
  const list = actions.value.actions;
  return (
    <div class="page">
      <header class="page-head">
        <h2>Changes</h2>
        <p class="quiet">
          What was done to the mesh from here, with what was written. Everything in force can be taken back.
        </p>
      </header>
      {list.length === 0 ? (
        <p class="empty">Nothing was changed yet. Choose a service in the graph to begin.</p>
      ) : (
        <ul class="change-list">
          {list.map((action) => (
            <li key={action.id}>
              <ChangeItem action={action} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

export function ChangeItem({ action }: { readonly action: AppliedAction }) {
  const { tone, text } = STATES[action.state];
  return (
    <article class={`change-item change-${action.state}`}>
      <div class="change-line">
        <Badge tone={tone}>{text}</Badge>
        <span class="change-text">{action.text}</span>
        {action.canUndo && action.state === "active" && (
          <button type="button" class="button small" onClick={() => void undo(action.id)}>
            <Icon name="undo" /> Undo
          </button>
        )}
      </div>
      <p class="quiet">
        <span title={clock(action.appliedAt)}>{ago(action.appliedAt, now.value)}</span>
        {action.expiresAt !== undefined && action.state === "active" && (
          <span> · undone by itself in {duration(action.expiresAt - now.value)}</span>
        )}
        {action.reason !== undefined && <span> · {action.reason}</span>}
      </p>
      {action.ramp !== undefined && <Ramp action={action} ramp={action.ramp} />}
      {action.changes.length > 0 && (
        <Fold title={plural(action.changes.length, "object")}>
          <Differences changes={action.changes} />
        </Fold>
      )}
    </article>
  );
}

function Ramp({ action, ramp }: { readonly action: AppliedAction; readonly ramp: NonNullable<AppliedAction["ramp"]> }) {
  return (
    <div class="ramp">
      <ol class="ramp-steps" aria-label={`Steps of the ramp; now at ${ramp.share} percent`}>
        {ramp.steps.map((step, index) => (
          <li key={step} class={index < ramp.step ? "past" : index === ramp.step ? "current" : ""}>
            {step}%
          </li>
        ))}
      </ol>
      <p class="quiet">
        {plural(ramp.requests, "request")} in this step, {percent(ramp.errorShare)} errors
        {ramp.nextAt !== undefined && action.state === "active" && ` · next in ${duration(ramp.nextAt - now.value)}`}
      </p>
    </div>
  );
}
