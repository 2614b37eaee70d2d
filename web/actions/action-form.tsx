import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Action, ActionKind, ActionPreview } from "../../src/console/api.ts";
import { Differences } from "../editor/diff-view.tsx";
import { ApiFailure, postJson } from "../state/api.ts";
import { session } from "../state/live.ts";
import { Problems } from "../ui/bits.tsx";
import { Icon } from "../ui/icons.tsx";
import { apply, draft, prepare } from "./draft.ts";
import { DURATIONS, type Field, type Kind, parseSteps, SERVICE_ACTIONS, type Target, withField } from "./kinds.ts";
import { rebalance } from "./weights.ts";

/** The list of what can be done to a service; one of them is open at a time. */
export function ServiceActions({ target }: { readonly target: Target }) {
  const known = session.value?.features.actions ?? [];
  const kinds = SERVICE_ACTIONS.filter(
    (kind) => known.includes(kind.kind) && (kind.needsVersions !== true || target.versions.length > 1),
  );
  const open = draft.value;
  const isOpen = (kind: Kind) => open?.kind === kind.kind && "service" in open && open.service === target.service;
  if (kinds.length === 0) return <p class="quiet">This console shows the mesh and changes nothing.</p>;
  return (
    <div class="action-list">
      {kinds.map((kind) => (
        <div key={kind.kind} class={`action ${isOpen(kind) ? "open" : ""}`}>
          <button
            type="button"
            class="action-head"
            aria-expanded={isOpen(kind)}
            onClick={() => {
              if (isOpen(kind)) draft.value = undefined;
              else prepare(kind.start(target));
            }}
          >
            <Icon name={kind.icon} />
            <span>{kind.title}</span>
          </button>
          {isOpen(kind) && open !== undefined && (
            <div class="action-body">
              <p class="quiet">{kind.about}</p>
              <Form kind={kind} action={open} target={target} />
              <Preview action={open} />
            </div>
          )}
        </div>
      ))}
    </div>
  );
}

function Form({ kind, action, target }: { readonly kind: Kind; readonly action: Action; readonly target: Target }) {
  return (
    <div class="form">
      {action.kind === "shift" && (
        <Shares weights={action.weights} onChange={(weights) => prepare({ ...action, weights })} />
      )}
      {kind.fields.map((field) => (
        <FieldInput key={field.name} field={field} action={action} target={target} />
      ))}
      {action.kind === "ramp" && (
        <Steps steps={action.steps ?? []} onChange={(steps) => prepare({ ...action, steps })} />
      )}
    </div>
  );
}

/** The text is the user's own while it is written: figures that come meanwhile draw the form again. */
function Steps(props: { readonly steps: readonly number[]; readonly onChange: (steps: readonly number[]) => void }) {
  const text = useSignal(props.steps.join(", "));
  return (
    <label class="field">
      <span>Steps in %</span>
      <input
        type="text"
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          props.onChange(parseSteps(text.value));
        }}
      />
    </label>
  );
}

function Shares(props: {
  readonly weights: Readonly<Record<string, number>>;
  readonly onChange: (weights: Readonly<Record<string, number>>) => void;
}) {
  return (
    <div class="shares">
      {Object.entries(props.weights).map(([version, weight], index) => (
        <label key={version} class={`share version-${index % 5}`}>
          <span class="share-name">{version}</span>
          <input
            type="range"
            min={0}
            max={100}
            step={1}
            value={weight}
            aria-label={`Share of ${version} in percent`}
            onInput={(event) => props.onChange(rebalance(props.weights, version, Number(event.currentTarget.value)))}
          />
          <output>{weight}%</output>
        </label>
      ))}
    </div>
  );
}

function FieldInput(props: { readonly field: Field; readonly action: Action; readonly target: Target }) {
  const { field, action, target } = props;
  const value = (action as unknown as Readonly<Record<string, string | number | undefined>>)[field.name];
  const change = (text: string) => prepare(withField(action, field, text));
  const choices = field.type === "version" ? target.versions : [];
  const listId = `choices-${field.name}`;
  return (
    <label class="field">
      <span>{field.label}</span>
      <span class="field-input">
        {choices.length > 0 ? (
          <select value={value} onChange={(event) => change(event.currentTarget.value)}>
            {choices.map((choice) => (
              <option key={choice} value={choice}>
                {choice}
              </option>
            ))}
          </select>
        ) : (
          <input
            type={field.type === "number" ? "number" : "text"}
            value={value ?? ""}
            {...(field.min === undefined ? {} : { min: field.min })}
            {...(field.max === undefined ? {} : { max: field.max })}
            {...(field.step === undefined ? {} : { step: field.step })}
            {...(field.type === "caller" ? { list: listId } : {})}
            placeholder={field.hint ?? (field.optional === true ? "as it is" : "")}
            onInput={(event) => change(event.currentTarget.value)}
          />
        )}
        {field.unit !== undefined && <small>{field.unit}</small>}
        {field.type === "caller" && (
          <datalist id={listId}>
            {target.callers.map((caller) => (
              <option key={caller} value={caller} />
            ))}
          </datalist>
        )}
      </span>
    </label>
  );
}

type PreviewState =
  | { readonly phase: "loading" }
  | { readonly phase: "ready"; readonly preview: ActionPreview }
  | { readonly phase: "refused"; readonly failure: Error };

const SETTLE_MS = 150;
const ON_PROCESSES: ReadonlySet<ActionKind> = new Set(["kill-envoy", "stop-control-plane", "start-control-plane"]);

/** What would be written, and the button that writes it. */
export function Preview({ action, onDone }: { readonly action: Action; readonly onDone?: () => void }) {
  const state = useSignal<PreviewState>({ phase: "loading" });
  const expires = useSignal("");
  const isApplying = useSignal(false);
  const asked = JSON.stringify(action);
  useEffect(() => {
    const abort = new AbortController();
    // While a slider moves only the last position is asked for.
    const timer = setTimeout(async () => {
      try {
        const preview = await postJson<ActionPreview>("/api/actions/preview", { action }, abort.signal);
        state.value = { phase: "ready", preview };
      } catch (thrown) {
        if (!abort.signal.aborted) state.value = { phase: "refused", failure: toError(thrown) };
      }
    }, SETTLE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [asked]);
  const submit = async () => {
    isApplying.value = true;
    try {
      const ms = Number(expires.value);
      await apply({ action, ...(ms > 0 ? { expiresInMs: ms } : {}) });
      draft.value = undefined;
      onDone?.();
    } catch (thrown) {
      state.value = { phase: "refused", failure: toError(thrown) };
    } finally {
      isApplying.value = false;
    }
  };
  const { value } = state;
  const hasErrors = value.phase === "ready" && value.preview.problems.some((problem) => problem.severity === "error");
  // Actions on processes write nothing; every other one does.
  const changesNothing =
    value.phase === "ready" && value.preview.changes.length === 0 && !ON_PROCESSES.has(action.kind);
  const canExpire = value.phase !== "ready" || value.preview.canUndo;
  return (
    <div class="preview">
      {value.phase === "loading" && <p class="quiet">Asking what would change …</p>}
      {value.phase === "refused" && (
        <div role="alert" class="refusal">
          <p>{value.failure.message}</p>
          <Problems problems={value.failure instanceof ApiFailure ? value.failure.problems : []} />
        </div>
      )}
      {value.phase === "ready" && (
        <>
          <p class="preview-text">{value.preview.text}</p>
          <Problems problems={value.preview.problems} />
          <Differences changes={value.preview.changes} />
          {changesNothing && <p class="quiet">Nothing would change: it is so already.</p>}
        </>
      )}
      <div class="preview-buttons">
        {canExpire && (
          <select
            aria-label="For how long"
            value={expires.value}
            onChange={(event) => {
              expires.value = event.currentTarget.value;
            }}
          >
            {DURATIONS.map(({ label, ms }) => (
              <option key={label} value={ms ?? ""}>
                {label}
              </option>
            ))}
          </select>
        )}
        <button
          type="button"
          class="button primary"
          disabled={value.phase === "loading" || hasErrors || changesNothing || isApplying.value}
          onClick={() => void submit()}
        >
          <Icon name="check" /> Apply
        </button>
        <button
          type="button"
          class="button"
          onClick={() => {
            draft.value = undefined;
            onDone?.();
          }}
        >
          Cancel
        </button>
      </div>
    </div>
  );
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
